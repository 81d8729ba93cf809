"""Where does the GPU wait, and for what? The split of idle time, by device and step, and who is behind it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from explorer.analysis.blame import categorical, names_of, operators_of_calls, outermost_of_family
from explorer.analysis.findings import lost_work_finding
from explorer.analysis.idle import HOST_PARTS, PARTS, Gaps, rows_at
from explorer.analysis.metrics import (
    PART_LABELS,
    DeviceFacts,
    device_facts,
    metric_values,
    to_metrics,
    unknown_metrics,
)
from explorer.analysis.pieces import devices_of, no_pieces_text
from explorer.analysis.windows import WindowKind, default_window
from explorer.report import Column, Metric, Report, ReportTable
from explorer.spans import NO_ROW
from explorer.trace import Trace
from explorer.units import Number

QUESTION = "Where does the GPU wait, and for what?"
CPU_QUESTION = "Where is the CPU idle between operators?"
CPU_NOTE = (
    "This trace has no GPU work. Host operators stand in for kernels, each with its self time; idle is when no "
    "operator runs on any thread. Compiled code shows as its Torch-Compiled Region."
)
_LONGEST_COUNT = 50
_SIZE_EDGES_NS = [0, *(step * 10**power for power in range(2, 9) for step in (1, 2, 5))]


def gap_report(trace: Trace, window: WindowKind | None = None) -> Report:
    """The exact split of idle time; `window` defaults to the steps where there are any.

    Metrics are sums over devices and steps (keys of definitions.md); `children` holds one report a device and inside
    it one a step. Tables of a device, nanoseconds and counts: `parts` (total, a step, share of idle), `gaps` (every
    gap with its parts), `longest`, `sizes` (how gaps of about one length split), `operators` and `calls` (who is
    behind late-host time; blocking calls that drained the device).
    """
    kind = window or default_window(trace)
    facts = [device_facts(trace, device, kind) for device in devices_of(trace)]
    children = {one.device: _device_report(trace, one) for one in facts}
    if len(facts) == 1:
        only = children[facts[0].device]
        return Report(only.question, only.window, only.metrics, only.tables, only.notes, children)
    if not facts:
        why = "The trace has neither GPU work nor operators."
        return Report(QUESTION, no_pieces_text(trace), unknown_metrics(why), (), (why,))
    totals = _summed([metric_values(one) for one in facts])
    notes = (f"Sums over {len(facts)} devices; each has its own report.",)
    return Report(QUESTION, facts[0].windows.text, to_metrics(totals), (), notes, children)


def _device_report(trace: Trace, facts: DeviceFacts) -> Report:
    found = metric_values(facts)
    frame = gaps_frame(trace, facts)
    is_cpu = facts.windows.pieces.is_cpu
    question = CPU_QUESTION if is_cpu else QUESTION
    names = _distinct([one.name for one in facts.windows.windows]) if facts.windows.kind == "steps" else []
    steps = {
        name: Report(question, name, to_metrics(metric_values(facts, number), is_cpu=is_cpu))
        for number, name in enumerate(names)
    }
    lost = lost_work_finding(facts)
    notes = (*facts.windows.notes, *((CPU_NOTE,) if is_cpu else ()), *((lost,) if lost else ()))
    uncertain = facts.gaps.is_uncertain
    if uncertain.any():
        count = int(uncertain.sum())
        which = "1 gap is" if count == 1 else f"{count:,} gaps are"
        notes += (f"{which} uncertain: work without a usable record may have run there.",)
    tables = (
        _parts_table(found, facts.step_count, "CPU" if is_cpu else "GPU"),
        ReportTable("gaps", "Every gap", _GAP_COLUMNS, frame),
        ReportTable("longest", "The longest gaps", _GAP_COLUMNS, _longest(frame)),
        _sizes_table(facts.gaps),
        _operators_table(frame),
        _calls_table(trace, facts.gaps),
    )
    metrics = (*to_metrics(found, is_cpu=is_cpu), *_further_metrics(facts, found))
    return Report(question, facts.windows.text, metrics, tables, notes, steps)


def _summed(all_found: list[dict[str, Number | None]]) -> dict[str, Number | None]:
    summed: dict[str, Number | None] = {}
    for found in all_found:
        for key, value in found.items():
            before = summed.get(key, 0)
            summed[key] = None if value is None or before is None else before + value
    return summed


def _further_metrics(facts: DeviceFacts, found: dict[str, Number | None]) -> tuple[Metric, ...]:
    gaps, span, busy = facts.gaps, found["span_ns"], found["busy_ns"]
    host_wait = int(gaps.length_ns[gaps.is_host_wait].sum())
    linked = int(gaps.length_ns[gaps.launch_row != NO_ROW].sum())
    ratio = busy / span if span and busy is not None else None
    who = "CPU" if facts.windows.pieces.is_cpu else "GPU"
    return (
        Metric("step_count", "steps", facts.step_count, "count"),
        Metric(
            "busy_ratio", f"{who} busy", ratio, "ratio", "higher", "" if ratio is not None else "The span is empty."
        ),
        Metric("between_steps_ns", "between steps", facts.windows.between_ns, "ns"),
        Metric("label_host_wait_ns", "host wait (whole-gap label)", host_wait, "ns"),
        Metric("label_queued_ns", "queued (whole-gap label)", linked - host_wait, "ns"),
        Metric("uncertain_ns", "in uncertain gaps", int(gaps.length_ns[gaps.is_uncertain].sum()), "ns"),
    )


def _parts_table(found: dict[str, Number | None], step_count: int, who: str) -> ReportTable:
    idle = found["idle_ns"] or 0
    rows = []
    for part in PARTS:
        total = found[f"{part}_ns"] or 0
        rows.append((part, PART_LABELS[part], total, total / max(step_count, 1), total / idle if idle else np.nan))
    columns = (
        Column("part", "part", "text"),
        Column("label", "what", "text"),
        Column("total_ns", "total", "ns"),
        Column("per_step_ns", "a step", "ns"),
        Column("share_ratio", "of idle", "ratio"),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return ReportTable("parts", f"What the {who} waited for", columns, frame)


_GAP_COLUMNS = (
    Column("device", "device", "text"),
    Column("window", "step", "text"),
    Column("start_ns", "from", "ns"),
    Column("end_ns", "to", "ns"),
    Column("length_ns", "length", "ns"),
    *(Column(f"{part}_ns", PART_LABELS[part], "ns") for part in PARTS),
    Column("label", "whole-gap label", "text"),
    Column("is_uncertain", "uncertain", "text"),
    Column("work_row", "row of the work that ends it", "count"),
    Column("call_row", "row of its launch", "count"),
    Column("work", "ended by", "text"),
    Column("call", "launched by", "text"),
    Column("operator", "operator", "text"),
    Column("drained_by", "drained by", "text"),
)


def gaps_frame(trace: Trace, facts: DeviceFacts) -> pd.DataFrame:
    """One row a gap, with its parts and the names behind it; rows of −1 mean none."""
    gaps, pieces = facts.gaps, facts.windows.pieces
    works = rows_at(pieces.row, gaps.ending)
    names = [one.name for one in facts.windows.windows]
    label = np.where(gaps.launch_row == NO_ROW, 2, np.where(gaps.is_host_wait, 0, 1))
    launch_operators = outermost_of_family(trace, operators_of_calls(trace, gaps.launch_row))
    columns = {
        "device": categorical(np.zeros(len(works), np.int32), [facts.device]),
        "window": categorical(gaps.window.astype(np.int32), _distinct(names)),
        "start_ns": gaps.start_ns,
        "end_ns": gaps.end_ns,
        "length_ns": gaps.length_ns,
        **{f"{part}_ns": gaps.parts[part] for part in PARTS},
        "label": categorical(label.astype(np.int32), ["host wait", "queued", "unattributed"]),
        "is_uncertain": gaps.is_uncertain,
        "work_row": works,
        "call_row": gaps.launch_row,
        "work": names_of(trace, "operators" if pieces.is_cpu else "work", works),
        "call": names_of(trace, "calls", gaps.launch_row),
        "operator": names_of(trace, "operators", launch_operators),
        "drained_by": names_of(trace, "calls", gaps.drained_by),
    }
    return pd.DataFrame(columns, columns=[column.key for column in _GAP_COLUMNS])


def _distinct(names: list[str]) -> list[str]:
    """Names as they are, numbered where the same one comes twice."""
    seen: dict[str, int] = {}
    distinct = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _longest(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.nlargest(_LONGEST_COUNT, "length_ns").reset_index(drop=True)


def _sizes_table(gaps: Gaps) -> ReportTable:
    """Gaps by length, in 1-2-5 steps: how many, and how their time splits."""
    edges = np.array(_SIZE_EDGES_NS, np.int64)
    place = np.searchsorted(edges, gaps.length_ns, side="right") - 1
    upper = np.append(edges[1:], max(int(gaps.length_ns.max(initial=0)) + 1, int(edges[-1]) + 1))
    frame = pd.DataFrame({"from_ns": edges, "to_ns": upper})
    frame["gap_count"] = np.bincount(place, minlength=len(edges))
    for part in PARTS:
        total = np.zeros(len(edges), np.int64)
        np.add.at(total, place, gaps.parts[part])
        frame[f"{part}_ns"] = total
    columns = (
        Column("from_ns", "from", "ns"),
        Column("to_ns", "to", "ns"),
        Column("gap_count", "gaps", "count"),
        *(Column(f"{part}_ns", PART_LABELS[part], "ns") for part in PARTS),
    )
    used = frame[frame["gap_count"] > 0].reset_index(drop=True)
    return ReportTable("sizes", "Gaps by length", columns, used)


def _operators_table(frame: pd.DataFrame) -> ReportTable:
    """Late-host time by the operator whose launch came late."""
    named = frame.assign(
        operator=frame["operator"].astype(object).where(frame["operator"].notna(), "outside every operator"),
        late_host_ns=frame[[f"{part}_ns" for part in HOST_PARTS]].sum(axis=1),
    )
    named["after_sync_ns"] = named["late_host_ns"].where(named["drained_by"].notna(), 0)
    late = named[named["late_host_ns"] > 0]
    grouped = late.groupby("operator", observed=True)[["late_host_ns", "after_sync_ns"]].sum()
    grouped.insert(0, "gap_count", late.groupby("operator", observed=True).size())
    rows = grouped.reset_index().sort_values(["late_host_ns", "operator"], ascending=[False, True], ignore_index=True)
    columns = (
        Column("operator", "operator", "text"),
        Column("gap_count", "gaps", "count"),
        Column("late_host_ns", "late host behind it", "ns"),
        Column("after_sync_ns", "drained by a sync", "ns"),
    )
    return ReportTable("operators", "Operators behind late-host time", columns, rows)


def _calls_table(trace: Trace, gaps: Gaps) -> ReportTable:
    """Late-host time after a blocking call, by that call and the operator around it."""
    drained = np.flatnonzero(gaps.drained_by != NO_ROW)
    calls = gaps.drained_by[drained]
    around = outermost_of_family(trace, operators_of_calls(trace, calls))
    operator = np.asarray(names_of(trace, "operators", around), object)
    frame = pd.DataFrame(
        {
            "call": np.asarray(names_of(trace, "calls", calls), object),
            "operator": np.where(around == NO_ROW, "outside every operator", operator),
            "gap_count": 1,
            "after_sync_ns": gaps.late_host_ns[drained],
        }
    )
    rows = (
        frame.groupby(["call", "operator"], as_index=False)
        .sum()
        .sort_values(["after_sync_ns", "call", "operator"], ascending=[False, True, True], ignore_index=True)
    )
    columns = (
        Column("call", "blocking call", "text"),
        Column("operator", "operator", "text"),
        Column("gap_count", "gaps after it", "count"),
        Column("after_sync_ns", "late host after it", "ns"),
    )
    return ReportTable("calls", "Blocking calls that drained the device", columns, rows)
