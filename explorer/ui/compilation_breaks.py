"""Where does a graph end before its function does, what runs between, and what does each crossing cost?"""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.compilation_crossings import crossings
from explorer.analysis.compilation_reasons import break_words
from explorer.shapes_results import GraphBreak, VariantResult, WholeGraph
from explorer.ui import pieces
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import text

_SHOWN_COUNT = 50


def draw_whole_graph(whole: WholeGraph | None) -> None:
    """Into how many graphs one call falls, at which lines, and what fullgraph says."""
    if whole is None:
        pieces.quiet_line("Dynamo could not explain the function.")
        return
    graphs = "one graph" if whole.graph_count == 1 else f"{whole.graph_count} graphs"
    breaks = "one break" if whole.break_count == 1 else f"{whole.break_count or 'no'} breaks"
    pieces.quiet_line(f"One call is {graphs}, with {breaks}.")
    draw_breaks(whole.breaks)
    if whole.refusal:
        words = f"fullgraph=True refuses at line {whole.refusal_line}: {break_words(whole.refusal)}."
        pieces.quiet_line(words)


def draw_breaks(breaks: Sequence[GraphBreak]) -> None:
    """A box a break: its line and why."""
    for one in breaks[:_SHOWN_COUNT]:
        place = f"{one.file}, line {one.line}" if one.line is not None else one.compile_id
        pieces.box(f"{place}: {one.source}" if one.source else place, [f"{break_words(one.reason)}.", one.reason])
    if len(breaks) > _SHOWN_COUNT:
        pieces.quiet_line(f"Of {len(breaks):,} breaks the first {_SHOWN_COUNT} are shown.")


def draw_crossings(result: VariantResult) -> None:
    """What leaving the graph costs in a steady call, piece to piece."""
    found = crossings(result)
    if not found:
        return
    lines = [
        Line(
            (
                Cell(f"{one.from_id} → {one.to_id}", one.reason),
                Cell(one.place, one.reason),
                Cell(text(one.crossing.size, "count")),
                Cell(text(one.median_ns, "ns"), f"median of {len(one.crossing.latencies_ns)} calls"),
                Cell(text(one.share_ratio, "ratio"), "of the whole call, median"),
            )
        )
        for one in found
    ]
    draw_rows(("from piece to piece", "break at", "size", "crossing", "of the call"), lines, (2, 3, 1, 1, 1))
    pieces.quiet_line(
        "Host time from the end of one piece to the start of the next: the Python between them, the next piece's "
        "guards and, on a GPU, waiting where Python needs a value."
    )
