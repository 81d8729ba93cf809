"""Buckets: what does padding to captured sizes cost my traffic, and which list is best?"""

from __future__ import annotations

import json
from collections.abc import Sequence

import streamlit as st

from explorer.analysis.advice import AdvisedLists, detail, headline
from explorer.analysis.buckets import BucketList
from explorer.analysis.graph_decisions import decisions_report
from explorer.charts.buckets import ADVISED_COLOUR, LIST_COLOURS, DrawnList, Shown, advisor_curve, padding_by_batch
from explorer.errors import ExplorerError
from explorer.graph_modes import BACKEND_SUPPORT
from explorer.report import Report
from explorer.ui import pieces
from explorer.ui.bucket_answers import OpenedSweep, advised, curve_report, lists_report
from explorer.ui.bucket_inputs import BucketInputs, draw_inputs, draw_rules
from explorer.ui.bucket_measure import draw_measure
from explorer.ui.bucket_tables import draw_buckets, draw_checks, draw_decisions, draw_lists, draw_traps
from explorer.ui.copying import copy_text
from explorer.ui.figures import draw_figure
from explorer.ui.graph_view import draw_graph_view
from explorer.ui.kept_address import kept_in_address
from explorer.ui.sources import all_sources
from explorer.units import text

_SHOWN_LABELS: dict[Shown, str] = {"padded_rows": "rows", "waste_ratio": "share"}


def show() -> None:
    """Draws the page: finding, choices, two figures, the lists, the advised list, and what lies behind them."""
    head = st.container()
    inputs = draw_inputs()
    try:
        found = advised(inputs.traffic, inputs.sweep, inputs.largest)
    except ExplorerError as problem:
        pieces.box("No list can be advised", [str(problem)], loud=True)
        return
    count = _chosen_count(found, inputs)
    best = BucketList(f"best {count}", found.advice.sizes(count))
    lists = (*inputs.lists, best)
    report = lists_report(lists, inputs.traffic, inputs.sweep)
    with head:
        pieces.finding(headline(found, inputs.lists[0], count), detail(found, inputs.lists, count))
    colours = dict(zip((chosen.name for chosen in inputs.lists), LIST_COLOURS, strict=False)) | {
        best.name: ADVISED_COLOUR
    }
    _draw_figures(inputs, found, report, colours, count)
    pieces.part_title("Lists", report.window)
    draw_lists(report, colours)
    _draw_whose(inputs.sweep, report)
    _draw_best(best, inputs.sweep, float(report.table("lists")["without_graph_ratio"].iloc[-1]))
    _draw_behind(inputs, report, lists)
    pieces.part_title("One launch for many kernels", "a decode step of batch 1, by what is captured")
    draw_graph_view(all_sources())


def _chosen_count(found: AdvisedLists, inputs: BucketInputs) -> int:
    """The slider's number; when the traffic or the measurements change it starts again from the finding's number."""
    suggested = found.fewest_as_good_as(inputs.lists[0].sizes) or found.elbow
    signature = (inputs.traffic.name, found.largest, found.unit, suggested, found.advice.most)
    if st.session_state.get("buckets_signature") != signature:
        st.session_state["buckets_signature"] = signature
        st.session_state["buckets_count"] = suggested
    return int(st.session_state["buckets_count"])


def _draw_figures(
    inputs: BucketInputs, found: AdvisedLists, report: Report, colours: dict[str, str], count: int
) -> None:
    theme = pieces.current_theme()
    left, right = st.columns((1.75, 1), gap="large")
    with left:
        with st.container(horizontal=True, vertical_alignment="center"):
            pieces.part_title("Padding by batch size")
            shown = st.segmented_control(
                "Shown",
                list(_SHOWN_LABELS),
                default="padded_rows",
                format_func=_SHOWN_LABELS.__getitem__,
                key="buckets_shown",
                label_visibility="collapsed",
                persist_state="session",
            )
        drawn = [DrawnList(name, colour, report.children[name].table("staircase")) for name, colour in colours.items()]
        counts = dict(enumerate(inputs.traffic.counts.tolist()))
        figure = padding_by_batch(drawn, counts, inputs.largest, shown or "padded_rows", theme)
        draw_figure(figure, key="padding_by_batch", alt="Padded rows at every batch size, over the traffic.")
        st.html(pieces.legend([(name, f"background:{colour}", "") for name, colour in colours.items()]))
    with right:
        pieces.part_title("How many sizes are worth it")
        curve = curve_report(inputs.lists, inputs.traffic, inputs.sweep, inputs.largest)
        figure = advisor_curve(curve, found.unit, count, colours, theme)
        draw_figure(figure, key="advisor_curve", alt="Padding a step by the number of sizes.")
        st.slider("Sizes to choose", 1, max(2, found.advice.most), key="buckets_count", persist_state="session")
        for note in curve.notes:
            pieces.quiet_line(note)


def _draw_whose(sweep: OpenedSweep | None, report: Report) -> None:
    """Whose numbers these are, and what is only estimated."""
    if sweep is None or sweep.costs is None:
        pieces.quiet_line("No step times: padding is counted in rows. Choose a sweep, or measure one below.")
        return
    settings = sweep.settings
    kind = {"FULL": "replayed full graphs", "PIECEWISE": "replayed pieces", "NONE": "eager steps"}[sweep.costs.kind]
    pieces.quiet_line(
        f"Step times are {kind} of {sweep.source.title}: {settings.dtype}, context {settings.context_tokens:,} of "
        f"{settings.cache_tokens:,}. Memory and start-up of a list are put together from its sizes in that sweep. "
        + " ".join([*report.notes, *([sweep.results.no_graphs_reason] if sweep.results.no_graphs_reason else [])])
    )


def _draw_best(best: BucketList, sweep: OpenedSweep | None, without_graph_ratio: float) -> None:
    words = " ".join(map(str, best.sizes))
    with st.container(key="best_list"):
        st.markdown(f"**{best.name}:** {words}")
        if best.sizes[0] > 1:
            pieces.quiet_line(f"A batch of fewer rows than {best.sizes[0]} runs as {best.sizes[0]}, even one of 1.")
        if without_graph_ratio:
            share = text(without_graph_ratio, "ratio")
            pieces.quiet_line(f"It ends at {best.largest:,}: {share} of this traffic's steps run without a graph.")
        as_json = json.dumps({"cudagraph_capture_sizes": list(best.sizes)})
        for_vllm, for_sglang, _ = st.columns((1, 1, 4), vertical_alignment="center")
        with for_vllm:
            copy_text("Copy for vLLM", f"--compilation-config '{as_json}'", key="copy_vllm")
        with for_sglang:
            copy_text("Copy for SGLang", f"--cuda-graph-bs {words}", key="copy_sglang")
    with st.expander("Measure on my device", expanded=bool(kept_in_address("sweep"))):
        measured = set() if sweep is None else {size.size for size in sweep.results.sizes}
        draw_measure(sorted(measured.union(best.sizes)))


def _draw_behind(inputs: BucketInputs, report: Report, lists: Sequence[BucketList]) -> None:
    """What lies behind the table: sizes of each list, vLLM's modes, and what the sweep checked."""
    with st.expander("Sizes of each list, and the engines' parameters"):
        draw_rules()
        for tab, chosen in zip(st.tabs([chosen.name for chosen in lists]), lists, strict=True):
            with tab:
                draw_buckets(report, chosen.name)
    with st.expander("vLLM's graph modes: what a batch runs as, and why"):
        backend = st.selectbox(
            "Attention backend", list(BACKEND_SUPPORT), key="buckets_backend", persist_state="session"
        )
        is_cut = st.toggle(
            "The step is cut at attention (piecewise compilation)", True, key="buckets_is_cut", persist_state="session"
        )
        draw_decisions(decisions_report(inputs.lists[0].sizes, BACKEND_SUPPORT[backend], is_cut_at_attention=is_cut))
    if inputs.sweep is not None and (inputs.sweep.results.padding_checks or inputs.sweep.results.traps):
        with st.expander("What the sweep checked: padding, fall-backs, and three traps"):
            draw_checks(inputs.sweep.results)
            draw_traps(inputs.sweep.results)


if __name__ == "__main__":
    show()
