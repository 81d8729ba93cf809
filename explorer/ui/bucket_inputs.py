"""What does the Buckets page ask for? Traffic, lists, the largest size, and whose measurements count."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from explorer.analysis.buckets import BucketList
from explorer.analysis.engine_steps import engine_report, traffic_from_trace
from explorer.analysis.traffic import PRESETS, Arrivals, Traffic, traffic_from_csv
from explorer.capture_sizes import LARGEST_SIZE, every_size, powers_of_two, sglang_sizes, vllm_sizes
from explorer.errors import ExplorerError, SettingsError
from explorer.ui import pieces
from explorer.ui.answers import trace_of
from explorer.ui.bucket_answers import OpenedSweep, opened_sweep, preset_traffic, simulated_traffic
from explorer.ui.engine_trace import pick_engine_trace
from explorer.ui.experiment_sources import experiment_sources, find_experiment

_TRAFFIC_LABELS = {
    **{name: words.capitalize() for name, words in PRESETS.items()},
    "poisson": "Poisson arrivals",
    "csv": "my batch sizes (CSV)",
    "trace": "an engine's trace",
}
_RULES: Mapping[str, Callable[[int], tuple[int, ...]]] = {
    "vLLM": lambda largest: vllm_sizes(
        largest,
        max_num_seqs=st.session_state.get("buckets_max_num_seqs"),
        batched_token_limit=st.session_state.get("buckets_batched_tokens"),
    ),
    "SGLang": lambda largest: sglang_sizes(largest, request_pool_size=st.session_state.get("buckets_request_pool")),
    "powers of two": powers_of_two,
    "every size": every_size,
}
_OWN = "own list"
_LARGEST_CHOICES = (32, 64, 128, 160, 256, 512)
_DEFAULT_LARGEST = 256
_NO_SWEEP = "none: count padded rows"


@dataclass(frozen=True)
class BucketInputs:
    """What a person chose; `sweep` is None where rows are counted instead of time."""

    traffic: Traffic
    lists: tuple[BucketList, ...]
    largest: int
    sweep: OpenedSweep | None


def draw_inputs() -> BucketInputs:
    """Draws the row of choices and returns them; what cannot be used is said in a box, and the default is taken."""
    columns = st.columns((1.25, 0.7, 2.1, 1.9), vertical_alignment="bottom")
    with columns[0]:
        chosen = st.selectbox(
            "Traffic",
            list(_TRAFFIC_LABELS),
            format_func=_TRAFFIC_LABELS.__getitem__,
            key="buckets_traffic",
            persist_state="session",
        )
    with columns[1]:
        largest = st.selectbox(
            "Largest size",
            _LARGEST_CHOICES,
            index=_LARGEST_CHOICES.index(_DEFAULT_LARGEST),
            key="buckets_largest",
            help="The largest size that a list may capture. Batches above it run without a graph.",
            persist_state="session",
        )
    with columns[2]:
        names = st.multiselect(
            "Lists",
            [*_RULES, _OWN],
            default=["vLLM", "SGLang", "powers of two"],
            key="buckets_lists",
            persist_state="session",
        )
    with columns[3]:
        sweep = _draw_sweep()
    return BucketInputs(_traffic(chosen, largest, sweep), _lists(names, largest), largest, sweep)


def parse_sizes(words: str) -> tuple[int, ...]:
    """Sizes from `1 2 4`, `1,2,4` or `[1, 2, 4]`; raises SettingsError for anything else."""
    parts = [part for part in re.split(r"[\s,\[\]]+", words) if part]
    if not parts or not all(part.isdigit() and 1 <= int(part) <= LARGEST_SIZE for part in parts):
        raise SettingsError(f"{words!r} is no list of sizes; give whole numbers from 1, such as 1 2 4 8 16.")
    return tuple(sorted({int(part) for part in parts}))


def _draw_sweep() -> OpenedSweep | None:
    sources = [source for source in experiment_sources("sweep") if not source.problem]
    named = {source.source_id: source for source in sources}
    finished = st.session_state.pop("sweep_finished", None)  # a sweep that was started on this page
    if finished in named:
        st.session_state["buckets_sweep"] = finished
    chosen = st.selectbox(
        "Measured step times",
        [*named, ""],
        format_func=lambda source_id: named[source_id].title if source_id else _NO_SWEEP,
        key="buckets_sweep",
        help="A sweep measures eager and replayed steps, graph memory and capture time at many batch sizes.",
        persist_state="session",
    )
    source = find_experiment(chosen, sources)
    if source is None:
        return None
    try:
        return opened_sweep(source)
    except ExplorerError as problem:
        pieces.box("This sweep cannot be opened", [str(problem)], loud=True)
        return None


def _traffic(chosen: str, largest: int, sweep: OpenedSweep | None) -> Traffic:
    try:
        if chosen == "poisson":
            return simulated_traffic(_draw_arrivals(largest), sweep)
        if chosen == "csv":
            return _draw_csv(largest)
        if chosen == "trace":
            return _draw_trace(largest)
        return preset_traffic(chosen, largest)
    except ExplorerError as problem:
        pieces.box("This traffic cannot be used; steady traffic is shown", [str(problem)], loud=True)
        return preset_traffic("steady", largest)


def _draw_arrivals(largest: int) -> Arrivals:
    columns = st.columns(4)
    rate = columns[0].number_input(
        "Requests a second", 0.01, 10_000.0, 40.0, key="buckets_rate", persist_state="session"
    )
    output = columns[1].number_input(
        "Tokens a request makes, mean", 1.0, 100_000.0, 200.0, key="buckets_output", persist_state="session"
    )
    limit = columns[2].number_input(
        "Rows at once, at most",
        1,
        LARGEST_SIZE,
        largest,
        key=f"buckets_limit_{largest}",
        persist_state="session",
    )
    duration = columns[3].number_input("Seconds", 1.0, 3600.0, 120.0, key="buckets_duration", persist_state="session")
    return Arrivals(
        requests_per_s=rate, mean_output_tokens=output, running_limit=int(limit), duration_s=duration, seed=0
    )


def _draw_csv(largest: int) -> Traffic:
    file = st.file_uploader(
        "Batch sizes as CSV: one a row, or a size and how often it ran", type=["csv", "txt"], key="buckets_csv"
    )
    if file is None:
        pieces.quiet_line("No file yet: steady traffic is shown.")
        return preset_traffic("steady", largest)
    return traffic_from_csv(file.name, file.getvalue().decode("utf-8", errors="replace"))


def _draw_trace(largest: int) -> Traffic:
    source = pick_engine_trace("buckets_trace")
    if source is None:
        pieces.quiet_line("No trace yet: steady traffic is shown.")
        return preset_traffic("steady", largest)
    trace = trace_of(source)
    traffic = traffic_from_trace(trace)
    ran = engine_report(trace)
    pieces.quiet_line(
        f"Of {ran.window}, {ran.value('full_count'):,} ran as a full graph, {ran.value('pieces_count'):,} as pieces, "
        f"{ran.value('none_count'):,} without a graph."
    )
    return traffic


def draw_rules() -> None:
    """Draws the engines' own parameters, which the lists follow from the next run of the page on."""
    columns = st.columns(3)
    for column, label, key, meaning in (
        (columns[0], "vLLM: max_num_seqs", "buckets_max_num_seqs", "Captured as a size of its own."),
        (columns[1], "vLLM: batched-token limit", "buckets_batched_tokens", "A size of its own, and the list's cap."),
        (columns[2], "SGLang: request pool", "buckets_request_pool", "No batch can be larger than the pool."),
    ):
        column.number_input(
            label, 1, LARGEST_SIZE, None, key=key, help=meaning, placeholder="not given", persist_state="session"
        )


def _lists(names: list[str], largest: int) -> tuple[BucketList, ...]:
    own = ""
    if _OWN in names:
        own = st.text_input("Own list", "1 2 4 8 16 32 64 128 256", key="buckets_own", persist_state="session")
    lists = []
    for name in names or ["vLLM"]:
        try:
            sizes = parse_sizes(own) if name == _OWN else _RULES[name](largest)
        except SettingsError as problem:
            pieces.box(f"{name} is left out", [str(problem)])
            continue
        lists.append(BucketList(name, sizes))
    return tuple(lists) or (BucketList("vLLM", vllm_sizes(largest)),)
