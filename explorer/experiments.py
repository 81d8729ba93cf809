"""Which experiments can the engine make, and what may a person choose for each?

An experiment is one word: its settings class is a row here, `explorer.engine.<word>` has its `run(settings, folder,
journal)`, and the settings say in which stages it proceeds. A plain `run` is the first of them. What an experiment
measures beyond a run's facts goes to results.json, in a shape that its own noun file defines.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeVar

from explorer.errors import SettingsError
from explorer.gallery_settings import GallerySettings
from explorer.probe_settings import ProbeSettings
from explorer.settings import Device, RunSettings
from explorer.shapes_settings import ShapesSettings
from explorer.sweep_settings import SweepSettings


class ExperimentSettings(Protocol):
    """What all experiments' settings have in common."""

    experiment: ClassVar[str]
    stages: ClassVar[tuple[str, ...]]

    @property
    def device(self) -> Device: ...

    @property
    def title(self) -> str: ...

    @property
    def compiles(self) -> bool: ...

    def to_json(self) -> dict[str, Any]: ...

    def refusals(self) -> list[str]: ...

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ExperimentSettings: ...


EXPERIMENTS: Mapping[str, type[ExperimentSettings]] = MappingProxyType(
    {kind.experiment: kind for kind in (RunSettings, ProbeSettings, SweepSettings, GallerySettings, ShapesSettings)}
)

Chosen = TypeVar("Chosen", bound=ExperimentSettings)


def settings_to_json(settings: ExperimentSettings) -> dict[str, Any]:
    """What settings.json holds: the experiment's name and its settings."""
    return {"experiment": settings.experiment, **settings.to_json()}


def settings_from_json(fields: Mapping[str, Any]) -> ExperimentSettings:
    """Settings of any experiment; without a name it is a run. Raises SettingsError for an unknown experiment."""
    name = fields.get("experiment", RunSettings.experiment)
    if name not in EXPERIMENTS:
        raise SettingsError(f"Unknown experiment {name!r}. Known are: {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name].from_json({key: value for key, value in fields.items() if key != "experiment"})


def validated(settings: Chosen) -> Chosen:
    """The same settings, or a SettingsError with every reason why they cannot run."""
    problems = settings.refusals()
    if problems:
        raise SettingsError(" ".join(problems))
    return settings
