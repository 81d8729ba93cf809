"""How is an answer handed over? One shape for the page, the command line and the exported file.

An analysis returns a `Report`; two reports of the same question become `Delta`s. Formatting is units.py's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from explorer.units import Number, Unit

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    """One number with its name. An unknown one has value None and says why in `reason`."""

    key: str
    label: str
    value: Number | None
    unit: Unit
    better: Better | None = None
    reason: str = ""


@dataclass(frozen=True)
class Column:
    """What a table's column holds; its key is the DataFrame's column name."""

    key: str
    label: str
    unit: Unit


@dataclass(frozen=True)
class ReportTable:
    """Rows under described columns; `frame` has exactly those columns and is not changed by anyone."""

    key: str
    label: str
    columns: tuple[Column, ...]
    frame: pd.DataFrame


@dataclass(frozen=True)
class Report:
    """The answer to one question about one trace. `window` says what was looked at, in words."""

    question: str
    window: str
    metrics: tuple[Metric, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    notes: tuple[str, ...] = ()
    children: dict[str, Report] = field(default_factory=dict)  # one a device or a step, by its name

    def metric(self, key: str) -> Metric:
        """The metric with that key; a KeyError is our own bug."""
        for metric in self.metrics:
            if metric.key == key:
                return metric
        raise KeyError(key)

    def value(self, key: str) -> Number | None:
        """The value of the metric with that key, None when unknown."""
        return self.metric(key).value

    def table(self, key: str) -> pd.DataFrame:
        """The rows of the table with that key."""
        for table in self.tables:
            if table.key == key:
                return table.frame
        raise KeyError(key)


@dataclass(frozen=True)
class Delta:
    """The same metric of two sides. `exceeds_spread` is None when nobody measured a spread."""

    key: str
    label: str
    unit: Unit
    a: Number | None
    b: Number | None
    better: Better | None = None
    exceeds_spread: bool | None = None
    reason: str = ""

    @property
    def change(self) -> Number | None:
        """B − a, or None when either is unknown."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def ratio(self) -> float | None:
        """How many times smaller b is: a / b; None when unknown or b is 0."""
        return None if self.a is None or not self.b else self.a / self.b


def metrics_to_json(report: Report) -> dict[str, Any]:
    """`{key: value}` of the report's metrics; unknown is None."""
    return {metric.key: metric.value for metric in report.metrics}
