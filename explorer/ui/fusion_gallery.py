"""One expression of a gallery on the page: source and generated code, ribbons, tensors, times."""

from __future__ import annotations

import streamlit as st

from explorer.analysis.fusion_gallery import gallery_groups, gallery_headline, gallery_report, traffic_finding
from explorer.charts.fusion import traffic_tiles
from explorer.charts.ribbons import ribbons
from explorer.gallery_results import ExpressionResult
from explorer.report import Report
from explorer.ui import pieces
from explorer.ui.figures import built, draw_figure
from explorer.ui.fusion_answers import OpenGallery, expression_map
from explorer.ui.fusion_code import CODE_PX, code_height, draw_kernel_code, draw_source
from explorer.ui.fusion_pictures import map_ribbons, traffic_rows
from explorer.units import exact, text


def draw_expression(gallery: OpenGallery) -> None:
    """Draws the expression that the picker names, the first at first."""
    named = {one.name: one for one in gallery.results.expressions}
    if not named:
        pieces.box("This gallery is empty", ["It ended before its first expression. Record it again."], loud=True)
        return
    picked = st.selectbox(
        "Expression", list(named), format_func=lambda name: named[name].title, key="fusion_expression", width=420
    )
    result = named[picked]
    report = gallery_report(result, gallery.facts.calibration)
    pieces.finding(gallery_headline(result, report), " ".join((", ".join(result.inputs) + ".", *report.notes)))
    pieces.cards(_cards(report))
    groups = gallery_groups(result)
    theme = pieces.current_theme()
    if result.computing_operators:
        pieces.part_title(
            "From source to kernels",
            "by Inductor's own provenance: certain; dashed is what stayed outside of every graph",
        )
        drawn = map_ribbons(expression_map(gallery, result))
        draw_figure(built(ribbons, *drawn, theme), key="fusion_ribbons", alt=gallery_headline(result, report))
    _draw_code(result)
    if result.computing_operators:
        pieces.part_title("Through memory", "each operator reads (R) and writes (W) whole tensors; t are temporaries")
        told = traffic_finding(result, report)
        pieces.quiet_line(told)
        draw_figure(traffic_tiles(traffic_rows(result, groups), theme), key="fusion_tiles", alt=told)


def _cards(report: Report) -> list[pieces.Card]:
    def pair(key: str, unit: str) -> str:
        return pieces.arrow_text(*(text(report.value(key.format(side)), unit) for side in ("a", "b")))  # type: ignore[arg-type]

    moved = pieces.arrow_text(*(text(report.value(key), "bytes") for key in ("eager_bytes", "fused_bytes")))
    predicted, measured = (text(report.value(f"{word}_ratio"), "times") for word in ("predicted", "measured"))
    temporaries = f"{text(report.value('temporary_count'), 'count')} temporaries"
    return [
        pieces.Card("device time", pair("time_{}_ns", "ns"), "without the profiler, cold cache"),
        pieces.Card("moved through memory", moved, temporaries, report.metric("fused_bytes").reason),
        pieces.Card("measured ratio", pieces.single_text(measured), f"predicted {predicted}"),
        pieces.Card("of measured bandwidth", pair("achieved_{}_ratio", "ratio"), "eager, compiled"),
        pieces.Card(
            "error, compiled ÷ eager",
            pieces.single_text(text(report.value("error_growth_ratio"), "times")),
            "each against float64",
            " → ".join(exact(report.value(f"error_{side}_ratio"), "ratio") for side in ("a", "b")),
        ),
    ]


def _draw_code(result: ExpressionResult) -> None:
    """Source left, generated code right, kernel by kernel."""
    left, right = st.columns(2)
    with left:
        pieces.part_title("Source", result.place)
        st.code(result.source, language="python", line_numbers=True, height=code_height(result.source, CODE_PX))
    with right:
        generated = {f"{place + 1} · {kernel.name}": kernel for place, kernel in enumerate(result.kernels)}
        whole = "whole output"
        pieces.part_title("Generated", "what Inductor wrote")
        if not generated:
            st.code("# no kernel: nothing is computed", language="python")
            return
        picked = st.selectbox(
            "Kernel", [*generated, whole], key=f"fusion_kernel_{result.name}", label_visibility="collapsed"
        )
        if picked in generated:
            draw_kernel_code(generated[picked].code, generated[picked].name, key="fusion")
        else:
            draw_source("\n\n".join(result.generated_code), "python", result.name, key="fusion")
