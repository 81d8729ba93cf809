"""What does each backend survive of CUDA graphs and torch.compile, and what do the engines' backends declare?"""

from __future__ import annotations

import streamlit as st

from explorer.attention_names import BACKEND_LABELS
from explorer.graph_modes import BACKEND_SUPPORT
from explorer.probe_results import GraphTry
from explorer.ui import pieces
from explorer.ui.attention_answers import OpenProbe
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import text

_SURVIVAL_WORDS = {"survives": "yes", "wrong": "wrong result", "fails": "fails", "not_tried": "–"}
_DECLARED_MEANING = {
    "ALWAYS": "any batch in a full graph",
    "UNIFORM_BATCH": "full graphs of batches whose rows have equally many queries",
    "UNIFORM_SINGLE_TOKEN_DECODE": "full graphs of decode with one token a row",
    "NEVER": "no full graph",
}
_DECLARED_SOURCE = (
    "As each backend's metadata builder declares it (AttentionCGSupport) in vLLM 0.33, read on 2026-11-29; "
    "FlashInfer's level depends on the GPU. Declared, not tried here."
)
QUESTIONS = (
    ("Heads", "Does it take grouped heads, latent attention (MLA), head sizes other than 128, values of another size?"),
    (
        "Masks",
        "Does it take a sliding window, an additive bias, a padding mask, causal with queries shorter than keys?",
    ),
    ("Cache", "Which KV number formats, and does it read pages in place or does indexing copy them first?"),
    ("Batches", "May rows of prefill and decode stand in one call, and rows with several new tokens (speculation)?"),
    ("Graphs", "Which batches may stand in a full graph: any, uniform, one token a row? What is fixed at capture?"),
    ("Hardware", "Which GPU generations and vendors, and what does it fall back to elsewhere?"),
)


def draw_graphs(probe: OpenProbe) -> None:
    """The tried table, kept backends, the declared table and the questions."""
    pieces.part_title("Graphs and torch.compile, tried", f"one decode step of 4 rows on {probe.machine}")
    _draw_tried(probe.results.graph_tries)
    _draw_kept(probe)
    left, right = st.columns((1, 1.2), gap="large")
    with left:
        pieces.part_title("What vLLM's backends declare")
        lines = [
            Line((Cell(backend), Cell(level.lower().replace("_", " "), _DECLARED_MEANING[level])))
            for backend, level in BACKEND_SUPPORT.items()
        ]
        draw_rows(("backend", "full graphs"), lines, (1, 1.6))
        pieces.quiet_line(_DECLARED_SOURCE)
    with right:
        pieces.part_title("What to ask of a new backend")
        st.markdown("\n".join(f"- **{topic}.** {question}" for topic, question in QUESTIONS))


def _draw_tried(tries: list[GraphTry]) -> None:
    if not tries:
        st.html('<p class="quiet">This probe tried none.</p>')
        return
    situations = list(dict.fromkeys(entry.situation for entry in tries))
    by_place = {(entry.backend, entry.situation): entry for entry in tries}
    backends = list(dict.fromkeys(entry.backend for entry in tries))
    lines = [
        Line((Cell(BACKEND_LABELS[backend]), *(_tried_cell(by_place.get((backend, name))) for name in situations)))
        for backend in backends
    ]
    draw_rows(("backend", *situations), lines, (0.8, *[1] * len(situations)))
    pieces.quiet_line(
        "Tensors are overwritten in place before each replay, and the result is compared with an eager call; flex "
        "attention keeps the block mask of the first lengths. Hover a cell for the error or the reason."
    )


def _tried_cell(entry: GraphTry | None) -> Cell:
    if entry is None:
        return Cell("–", "not tried on this device")
    hover = entry.sentence
    if entry.error_ratio is not None:
        hover = f"{text(entry.error_ratio, 'ratio')} from eager float32. {hover}".strip()
    words = _SURVIVAL_WORDS[entry.survival]
    if entry.ran_backend not in (None, entry.backend):
        words += f", {BACKEND_LABELS[str(entry.ran_backend)]} ran"
    return Cell(words, hover)


def _draw_kept(probe: OpenProbe) -> None:
    for kept in probe.results.kept_backends:
        under, called = BACKEND_LABELS[kept.compiled_under], BACKEND_LABELS[kept.called_under]
        if kept.ran_backend is None:
            pieces.quiet_line(
                f"Compiled under {under}, called under {called}: {kept.sentence or 'names do not tell what ran'}."
            )
        elif kept.ran_backend != kept.called_under:
            pieces.box(
                f"Forcing {called} around a function compiled under {under}: {BACKEND_LABELS[kept.ran_backend]} ran",
                ["A compiled function keeps the backend it was compiled under. Put the choice inside the function."],
                loud=True,
            )
