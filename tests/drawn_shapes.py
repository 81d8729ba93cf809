"""An experiment with shapes, drawn by hand: six sizes, and a position that reaches the limit at the ninth call."""

from __future__ import annotations

from pathlib import Path

from explorer.facts import Facts, facts_to_json
from explorer.recording import FACTS_FILE, RESULTS_FILE, create_recording, write_json
from explorer.shapes_results import (
    Call,
    CompiledEntry,
    Crossing,
    GraphBreak,
    Guards,
    Missing,
    ShapesResults,
    SteadyTime,
    VariantResult,
    WholeGraph,
    results_to_json,
)
from explorer.shapes_settings import ShapesSettings, Variant

SETTINGS = ShapesSettings(subject="position_attribute", sizes=(4,) * 10, dynamics=("none",), backend="graphs_only")
MS = 1_000_000


ITEM_BREAK = GraphBreak(compile_id="0/7", reason="Unsupported Tensor.item() call", file="a/x.py", line=9)


def entry(at: int, *, failure: str = "") -> CompiledEntry:
    stages = {"dynamo": 5 * MS, "aot_autograd": 2 * MS, "inductor": 7 * MS, "kernels": 3 * MS}
    return CompiledEntry(
        compile_id=f"0/{at}",
        frame="forward",
        file="explorer/x.py",
        line=7,
        recompile_reason=f"0/{at - 1}: self.position == {at - 1}" if at else "",
        failure=failure,
        total_ns=17 * MS,
        stage_ns={} if failure else stages,
        guards=[] if failure else [Guards(group="python_state", count=1, texts=[f"EQUALS_MATCH: position == {at}"])],
    )


def call(at: int) -> Call:
    is_built = at < 8
    return Call(
        index=at,
        size=4,
        padded_size=4,
        outcome="compiled" if is_built else "eager",
        time_ns=20 * MS if is_built else MS,
        built_ids=[f"0/{at}"] if is_built else [],
        ran_ids=[f"0/{at}"] if is_built else [],
        entry_ids=[f"0/{at}"] if at < 9 else [],
    )


def stopped_variant() -> VariantResult:
    """Eight compilations, then the limit, then eager calls."""
    limit = "Unsupported: Dynamo recompile limit exceeded"
    return VariantResult(
        variant=Variant(dynamic="none", scope="model", cache="cold"),
        import_ns=100 * MS,
        build_ns=10 * MS,
        recompile_limit=8,
        calls=[call(at) for at in range(10)],
        entries=[*(entry(at) for at in range(8)), entry(8, failure=limit)],
        eager=[SteadyTime(size=4, outcome="eager", latencies_ns=[3 * MS])],
        steady=[SteadyTime(size=4, outcome="reused", latencies_ns=[2 * MS])],
        breaks=[ITEM_BREAK],
        crossings=[Crossing(size=4, from_id="0/7", to_id="1/0", latencies_ns=[MS // 2, MS])],
    )


def missing_variant() -> VariantResult:
    """A machine without a compiler."""
    message = "There is no working C++ compiler, which code for the CPU needs: install g++."
    variant = Variant(dynamic="true", scope="model", cache="cold")
    return VariantResult(variant=variant, missing=Missing(message=message, sentence="InvalidCxxCompiler"))


def drawn_results() -> ShapesResults:
    broken = GraphBreak(
        compile_id="", reason="Unsupported Tensor.item() call", file="a/x.py", line=9, source="y.item()"
    )
    return ShapesResults(
        variants=[stopped_variant(), missing_variant()],
        whole_graph=WholeGraph(
            graph_count=2, break_count=1, breaks=[broken], refusal="data-dependent expression", refusal_line=9
        ),
    )


def write_shapes(folder: Path) -> None:
    """The experiment as a recording."""
    create_recording(folder, SETTINGS)
    write_json(folder / FACTS_FILE, facts_to_json(Facts(state="finished")))
    write_json(folder / RESULTS_FILE, results_to_json(drawn_results()))
