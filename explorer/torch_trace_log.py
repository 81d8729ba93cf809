"""What does a TORCH_TRACE log say? Compilations, their guards, and graph breaks, without PyTorch.

The log is text: a line of the glog manner ends in a JSON object, and where that has `has_payload`, the lines after it
that begin with a tab are its payload. Only a few of its many records are read here; tlparse shows them all. What
tlparse itself writes is `raw.jsonl`, the same objects a line each, with the payloads in files beside it.

Anybody's log is read: a value that is not of its kind counts as absent, and texts are cut to what a page can show.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from explorer.shapes_results import CompiledEntry, GraphBreak, GuardGroup, Guards

GRAPH_BREAK = "dynamo_graph_break_reason"
_KINDS = ("compilation_metrics", "dynamo_cpp_guards_str", "dynamo_output_graph")
GUARD_TEXT_LIMIT = 30
"""Guards of one group that are kept as text; the log has them all."""
_GUARD_LENGTH = 240
_TEXT_LENGTH = 2000
"""Of a reason, a name or a guard before it is cut at its comment: a log's author may write any length."""
_BREAK_LENGTH = 20_000
_LARGEST = 2.0**53
_RECORD = re.compile(r"^[VIWEC]\d{4} [\d:.]+ \d+ \S+:\d+\] (\{.*)$")
_BREAK_PLACE = re.compile(r"^Graph break in user code at (.+):(\d{1,9})$", re.MULTILINE)
_BREAK_REASON = re.compile(r"^Graph Break Reason: (.*?)\n(?:User code traceback:|Traceback)", re.MULTILINE | re.DOTALL)
_GUARD_LINE = re.compile(r"^[| ]*\+- ([A-Z_]+): (.*)$")
_GROUPS: Mapping[str, GuardGroup] = MappingProxyType(
    {
        "GLOBAL_STATE": "global_state",
        "TORCH_FUNCTION_MODE_STACK": "global_state",
        "DEFAULT_DEVICE": "global_state",
        "DETERMINISTIC_ALGORITHMS": "global_state",
        "GRAD_MODE": "global_state",
        "TENSOR_MATCH": "tensors",
        "SHAPE_ENV": "shapes",
        "SYMBOLIC_SHAPE_GUARD": "shapes",
        "DIMENSION_DYNAMIC_MARKING_GUARD": "shapes",
        "NO_TENSOR_ALIASING": "tensors",
        "STORAGE_OVERLAPPING": "tensors",
    }
)
_STAGE_FIELDS = (
    "dynamo_cumulative_compile_time_us",
    "aot_autograd_cumulative_compile_time_us",
    "inductor_cumulative_compile_time_us",
    "triton_compile_time_us",
)


@dataclass(frozen=True)
class CompileLog:
    """What one log says, in its order."""

    entries: tuple[CompiledEntry, ...]
    breaks: tuple[GraphBreak, ...]


def read_log(lines: Iterable[str]) -> CompileLog:
    """The compilations and graph breaks in the lines of a log; lines that are no records are passed over."""
    return _read(_records(lines))


def read_jsonl(lines: Iterable[str], payloads: Mapping[tuple[str, str], str]) -> CompileLog:
    """The same from tlparse's `raw.jsonl`; a payload's key is `frame/entry/attempt` and the name of its kind."""
    objects = (record for line in lines if (record := _json_object(line)) is not None)
    return _read(
        (record, payloads.get((f"{_compile_id(record)}/{record.get('attempt', 0)}", _kind(record)), ""))
        for record in objects
    )


def _read(records: Iterable[tuple[dict[str, Any], str]]) -> CompileLog:
    entries: list[CompiledEntry] = []
    breaks: list[GraphBreak] = []
    guards: dict[str, str] = {}
    sizes: dict[str, dict[str, list[str]]] = {}
    for record, payload in records:
        kind, compile_id = _kind(record), _compile_id(record)
        if kind == "compilation_metrics":
            entry = entry_of_metrics(record[kind])
            grouped = grouped_guards(guards.pop(entry.compile_id, ""))
            entries.append(replace(entry, guards=grouped, input_sizes=sizes.pop(entry.compile_id, {})))
        elif kind == "dynamo_cpp_guards_str":
            guards[compile_id] = payload
        elif kind == "dynamo_output_graph":
            sizes[compile_id] = _input_sizes(record[kind].get("sizes"))
        elif kind == GRAPH_BREAK:
            breaks.append(break_of(compile_id, payload))
    return CompileLog(tuple(entries), tuple(breaks))


def _compile_id(record: Mapping[str, Any]) -> str:
    return f"{record.get('frame_id')}/{record.get('frame_compile_id')}"


def _kind(record: Mapping[str, Any]) -> str:
    """Which of the records that are read here it is; empty for any other."""
    artifact = record.get("artifact")
    if isinstance(artifact, dict) and artifact.get("name") == GRAPH_BREAK:
        return GRAPH_BREAK
    return next((kind for kind in _KINDS if isinstance(record.get(kind), dict)), "")


def entry_of_metrics(metrics: Mapping[str, Any]) -> CompiledEntry:
    """An entry from one of `torch._dynamo.utils.get_compilation_metrics()`, or from the log's copy of it."""
    caches = ("inductor_fx_local", "aotautograd_local", "inductor_fx_remote", "aotautograd_remote")
    counted = {
        kind: {cache: count for cache in caches if (count := _count(metrics.get(f"{cache}_cache_{kind}_count")))}
        for kind in ("hit", "miss")
    }
    return CompiledEntry(
        compile_id=_cut(metrics.get("compile_id")),
        frame=_cut(metrics.get("co_name")),
        file=short_path(_cut(metrics.get("co_filename") or "")),
        line=_count(metrics.get("co_firstlineno")),
        guard_count=_count(metrics.get("guard_count")),
        guard_latency_ns=_ns(metrics.get("guard_latency_us")),
        recompile_reason=_clean_reason(metrics.get("recompile_reason")),
        failure=_failure(metrics),
        operator_count=_count(metrics.get("graph_op_count")),
        total_ns=_ns(metrics.get("dynamo_cumulative_compile_time_us")),
        stage_ns=_exclusive_stages(metrics),
        cache_hits=counted["hit"],
        cache_misses=counted["miss"],
        input_sizes=_input_sizes(_literal(metrics.get("graph_node_shapes"))),
    )


def grouped_guards(tree: str) -> list[Guards]:
    """The leaves of Dynamo's guard tree by group, repeated texts once; empty for an empty tree."""
    counts: dict[GuardGroup, int] = {}
    texts: dict[GuardGroup, list[str]] = {}
    for line in tree.splitlines():
        found = _GUARD_LINE.match(line)
        if not found or found[2].startswith("source="):
            continue
        text = _without_comment(found[2])
        group = _group(found[1], text)
        counts[group] = counts.get(group, 0) + 1
        shown, said = texts.setdefault(group, []), f"{found[1]}: {text}"[:_GUARD_LENGTH]
        if len(shown) < GUARD_TEXT_LIMIT and said not in shown:
            shown.append(said)
    return [Guards(group=group, count=count, texts=texts[group]) for group, count in counts.items()]


def break_of(compile_id: str, payload: str) -> GraphBreak:
    """A graph break from the text that Dynamo writes for it."""
    payload = payload[:_BREAK_LENGTH]
    place = _BREAK_PLACE.search(payload)
    reason = _BREAK_REASON.search(payload)
    said = [line.strip() for line in (reason[1] if reason else payload).splitlines() if line.strip()]
    # The first line names the bytecode; the sentence about it follows.
    sentence = next((line for line in said if not line.startswith("Encountered graph break")), said[0] if said else "")
    return GraphBreak(
        compile_id=compile_id,
        reason=sentence[:_TEXT_LENGTH],
        file=short_path(place[1]) if place else "",
        line=int(place[2]) if place else None,
        source=_source_line(payload, place[1], place[2]) if place else "",
    )


def short_path(path: str) -> str:
    """The last two parts of a path: enough to recognise a file, and nothing of the machine."""
    return "/".join(PurePath(path).parts[-2:])


def _records(lines: Iterable[str]) -> Iterator[tuple[dict[str, Any], str]]:
    record: dict[str, Any] | None = None
    payload: list[str] = []
    for ended_line in lines:
        line = ended_line.removesuffix("\n")
        if line.startswith("\t"):
            payload.append(line[1:])
            continue
        if record is not None:
            yield record, "\n".join(payload)
        record, payload = _record(line), []
    if record is not None:
        yield record, "\n".join(payload)


def _record(line: str) -> dict[str, Any] | None:
    found = _RECORD.match(line)
    return _json_object(found[1]) if found else None


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _exclusive_stages(metrics: Mapping[str, Any]) -> dict[str, int]:
    """Each stage without those inside it: Dynamo calls AOTAutograd, which calls Inductor, which waits for kernels.

    A stage that did not take place is 0; without Dynamo's own time nothing is known. A clock's rounding may let the
    inner time exceed the outer one by a microsecond: the inner one counts. Kernels tried out while compiling are
    Inductor's time, and are taken from what is left of it.
    """
    if _ns(metrics.get(_STAGE_FIELDS[0])) is None:
        return {}
    inclusive = [_ns(metrics.get(name)) or 0 for name in _STAGE_FIELDS]
    for at in range(2, -1, -1):
        inclusive[at] = max(inclusive[at], inclusive[at + 1])
    dynamo, aot, inductor, kernels = inclusive
    autotune = min(_ns(metrics.get("compile_time_autotune_time_us")) or 0, inductor - kernels)
    return {
        "dynamo": dynamo - aot,
        "aot_autograd": aot - inductor,
        "inductor": inductor - kernels - autotune,
        "kernels": kernels,
        "autotune": autotune,
    }


def _input_sizes(sizes: Any) -> dict[str, list[str]]:
    """Sizes of a graph's inputs, which Dynamo names `l_...`; parameters of modules are left out."""
    if not isinstance(sizes, Mapping):
        return {}
    return {
        name: [_cut(size) for size in dims]
        for name, dims in sizes.items()
        if _is_input(name) and isinstance(dims, list | tuple)
    }


def _is_input(name: Any) -> bool:
    return isinstance(name, str) and name.startswith("l_") and "_parameters_" not in name and "_buffers_" not in name


def _literal(text: Any) -> Any:
    try:
        return ast.literal_eval(text) if isinstance(text, str) else None
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _count(value: Any) -> int | None:
    is_known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST
    return value if is_known else None


def _ns(value_us: Any) -> int | None:
    is_known = isinstance(value_us, int | float) and 0 <= value_us < _LARGEST
    return int(value_us * 1000) if is_known else None


def _cut(text: Any) -> str:
    return str(text)[:_TEXT_LENGTH] if isinstance(text, str | int | float | None) else ""


def _without_comment(guard: str) -> str:
    return re.split(r"\s# ", guard[:_TEXT_LENGTH], maxsplit=1)[0].strip()


def _group(kind: str, text: str) -> GuardGroup:
    if kind == "LAMBDA_GUARD" and (".size()[" in text or ".stride()[" in text):
        return "shapes"
    return _GROUPS.get(kind, "python_state")


def _clean_reason(reason: Any) -> str:
    """`0/0: self.pos == 0  # source …` → `0/0: self.pos == 0`: the guard without the place that asked for it."""
    return _without_comment(_first_line(reason))


def _failure(metrics: Mapping[str, Any]) -> str:
    if not metrics.get("fail_type"):
        return ""
    return f"{_cut(metrics['fail_type'])}: {_first_line(metrics.get('fail_reason'))}"


def _first_line(text: Any) -> str:
    return next(iter(_cut(text).strip().splitlines()), "") if text else ""


def _source_line(payload: str, file: str, line: str) -> str:
    lines = payload.splitlines()
    for at, said in enumerate(lines[:-1]):
        if f'File "{file}", line {line}' in said:
            return lines[at + 1].strip()
    return ""
