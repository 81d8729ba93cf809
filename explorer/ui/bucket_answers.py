"""What has already been found out for the Buckets page? Sweeps read once, advice worked out once a server."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from explorer.analysis.advice import AdvisedLists, advice_report, advise
from explorer.analysis.buckets import BucketList, buckets_report
from explorer.analysis.sweep import SweepCosts, best_costs
from explorer.analysis.traffic import Arrivals, Traffic, preset, simulate
from explorer.recording import Recording
from explorer.report import Report
from explorer.sweep_settings import SweepResults, SweepSettings, results_from_json
from explorer.ui.experiment_sources import ExperimentSource

_LIMIT = 64
_ASSUMED_STEP_NS = 10e6


@dataclass(frozen=True)
class OpenedSweep:
    """A sweep with what it measured; `costs` is None when it did not get as far as one size."""

    source: ExperimentSource
    settings: SweepSettings
    results: SweepResults
    costs: SweepCosts | None

    @property
    def key(self) -> str:
        return f"{self.source.source_id} {self.source.stamp}"


def opened_sweep(source: ExperimentSource) -> OpenedSweep:
    """The sweep behind a source; raises RecordingError when its results are missing or malformed."""
    return _opened(str(source.folder), source.stamp, source)


def preset_traffic(name: str, largest: int) -> Traffic:
    """See `analysis.traffic.preset`."""
    return _preset(name, largest)


def simulated_traffic(arrivals: Arrivals, sweep: OpenedSweep | None) -> Traffic:
    """Poisson arrivals on an engine whose steps take as long as the sweep's; without one, ten milliseconds each.

    Above the sweep's largest size a step takes as long as at it.
    """
    return _simulated(arrivals, sweep.key if sweep else "", sweep.costs if sweep else None)


def lists_report(lists: tuple[BucketList, ...], traffic: Traffic, sweep: OpenedSweep | None) -> Report:
    """See `analysis.buckets.buckets_report`."""
    return _lists(lists, _traffic_key(traffic), sweep.key if sweep else "", traffic, sweep.costs if sweep else None)


def advised(traffic: Traffic, sweep: OpenedSweep | None, largest: int) -> AdvisedLists:
    """See `analysis.advice.advise`."""
    return _advised(_traffic_key(traffic), sweep.key if sweep else "", largest, traffic, sweep.costs if sweep else None)


def curve_report(lists: tuple[BucketList, ...], traffic: Traffic, sweep: OpenedSweep | None, largest: int) -> Report:
    """See `analysis.advice.advice_report`."""
    found = advised(traffic, sweep, largest)
    keys = (_traffic_key(traffic), sweep.key if sweep else "", largest)
    return _curve(lists, keys, found, sweep.costs if sweep else None)


def _traffic_key(traffic: Traffic) -> str:
    return f"{traffic.name} {hashlib.sha256(traffic.counts.tobytes()).hexdigest()}"


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _opened(folder: str, stamp: str, _source: ExperimentSource) -> OpenedSweep:
    del stamp  # only part of the cache's key
    recording = Recording(Path(folder))
    settings = recording.experiment_settings()
    assert isinstance(settings, SweepSettings)
    results = results_from_json(recording.results())
    return OpenedSweep(_source, settings, results, best_costs(results))


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _preset(name: str, largest: int) -> Traffic:
    return preset(name, largest)


@st.cache_resource(show_spinner="Simulating arrivals", max_entries=_LIMIT)
def _simulated(arrivals: Arrivals, sweep_key: str, _costs: SweepCosts | None) -> Traffic:
    del sweep_key
    costs = _costs
    if costs is None:
        return simulate(arrivals, lambda _rows: _ASSUMED_STEP_NS)
    return simulate(arrivals, lambda rows: float(np.interp(rows, costs.sizes, costs.step_ns)))


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _lists(
    lists: tuple[BucketList, ...], traffic_key: str, sweep_key: str, _traffic: Traffic, _costs: SweepCosts | None
) -> Report:
    del traffic_key, sweep_key
    return buckets_report(lists, _traffic, _costs)


@st.cache_resource(show_spinner="Choosing sizes", max_entries=_LIMIT)
def _advised(
    traffic_key: str, sweep_key: str, largest: int, _traffic: Traffic, _costs: SweepCosts | None
) -> AdvisedLists:
    del traffic_key, sweep_key
    return advise(_traffic, _costs, largest)


@st.cache_resource(show_spinner=False, max_entries=_LIMIT)
def _curve(
    lists: tuple[BucketList, ...], keys: tuple[str, str, int], _found: AdvisedLists, _costs: SweepCosts | None
) -> Report:
    del keys
    return advice_report(_found, lists, _costs)
