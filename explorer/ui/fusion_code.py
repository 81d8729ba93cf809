"""What did the compiler write for a group of kernels? Source lines and eager kernels left, generated code right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from explorer.analysis.fusion_code import texts_of
from explorer.analysis.fusion_folding import FoldedGroup
from explorer.analysis.fusion_kernels import HeldOperator, count_of
from explorer.analysis.fusion_names import kernel_label
from explorer.generated_code import GeneratedCode, KernelText, kernel_language, kernel_source
from explorer.ui import pieces
from explorer.ui.copying import copy_text
from explorer.ui.fusion_answers import Pair
from explorer.ui.rows import Cell, Line, draw_rows
from explorer.units import shortened, text

CODE_PX = 420
_HOW_TO_RECORD = (
    "Not recorded: a trace alone does not hold what the compiler wrote, and neither do older recordings. "
    "Record the run again: explorer run --mode compile --out traces/runs/compiled"
)
_LINE_PX = 22
_ENDINGS = {"python": "py", "cpp": "cpp"}


def draw_code(pair: Pair) -> None:
    """Draws the code of one group that a person picks; says how to record it where it is missing."""
    pieces.part_title("Generated code", "kernel by kernel, with the lines that it comes from")
    if pair.code is None:
        pieces.quiet_line(_HOW_TO_RECORD)
        return
    groups = _generated_groups(pair.answer.folded, pair.code)
    if not groups:
        pieces.quiet_line("No generated kernel ran in this step; the compiler's whole output can be downloaded.")
        _download(pair.code)
        return
    picked = st.selectbox("Group", list(groups), key="fusion_code_group", width=420)
    one, texts = groups[picked]
    left, right = st.columns(2)
    with left:
        _draw_eager(one, pair.answer.word)
    with right:
        _draw_texts(texts)
    _download(pair.code)


def _generated_groups(
    folded: Sequence[FoldedGroup], code: GeneratedCode
) -> dict[str, tuple[FoldedGroup, list[KernelText]]]:
    """The groups that have generated kernels, most time saved first, with their distinct texts."""
    found: dict[str, tuple[FoldedGroup, list[KernelText]]] = {}
    for place, one in enumerate(sorted(folded, key=lambda one: sum(one.changes_ns))):
        kernels = dict.fromkeys((kernel.name, kernel.file) for kernel in one.kernels("compiled"))
        chosen = [kernel for kernel in one.kernels("compiled") if kernels.pop((kernel.name, kernel.file), 0) is None]
        texts = dict.fromkeys(text for kernel in chosen for text in texts_of(kernel, code))
        if texts:
            found[f"{place + 1} · {one.first.title} · {one.place}"] = (one, list(texts))
    return found


def _draw_eager(one: FoldedGroup, word: str) -> None:
    member = one.members[len(one.members) // 2]
    pieces.part_title("Source", "which operators come from which line, by the compiler's own word")
    held = dict.fromkeys(held for kernel in member.compiled for held in kernel.held)
    source = _source_text(list(held))
    st.code(source, language="python", height=code_height(source, CODE_PX // 2), wrap_lines=True)
    pieces.part_title(
        "Eager", f"{count_of(member.eager)} {word}s where the compiled side has {count_of(member.compiled)}"
    )
    lines = [
        Line(
            (
                Cell(kernel.word),
                Cell(shortened(kernel_label(kernel.name), 40), kernel.name, is_words=True),
                Cell(text(kernel.time_ns, "ns")),
            )
        )
        for kernel in member.eager
    ]
    with st.container(height=CODE_PX // 2, border=False):
        draw_rows(("operator", Cell("kernel", is_words=True), "time"), lines, (1.4, 4, 0.9))


def _source_text(held: Sequence[HeldOperator]) -> str:
    """The lines as code, each under its place and its operators."""
    by_line: dict[tuple[object, object], list[HeldOperator]] = {}
    for one in held:
        by_line.setdefault((one.line, one.caller), []).append(one)
    blocks = []
    for same in by_line.values():
        line, caller = same[0].line, same[0].caller
        operators = ", ".join(dict.fromkeys(one.word for one in same))
        if line is None:
            blocks.append(f"# no line recorded: {operators}")
            continue
        called = f", called from {caller.place}" if caller else ""
        blocks.append(f"# {line.place}{called}: {operators}\n{line.text}")
    return "\n".join(blocks)


def _draw_texts(texts: Sequence[KernelText]) -> None:
    named = {f"{place + 1} · {one.name}": one for place, one in enumerate(texts)}
    pieces.part_title("Generated", f"{len(texts)} kernels" if len(texts) > 1 else "one kernel")
    picked = st.selectbox("Kernel", list(named), key="fusion_code_kernel", label_visibility="collapsed")
    draw_kernel_code(named[picked].code, named[picked].name, key="fusion_code")


def draw_kernel_code(code: str, name: str, *, key: str) -> None:
    """One kernel's code without the call around it: see `draw_source`."""
    draw_source(kernel_source(code), kernel_language(code), name, key=key)


def draw_source(source: str, language: Literal["python", "cpp"], name: str, *, key: str) -> None:
    """Code with highlighting, and buttons to copy and to download it."""
    st.code(source, language=language, line_numbers=True, height=code_height(source, CODE_PX - 88))
    with st.container(horizontal=True, gap="medium"):
        copy_text("Copy code", source, key=f"{key}_copy")
        st.download_button("Download", source, f"{name}.{_ENDINGS[language]}", key=f"{key}_file")


def code_height(source: str, most_px: int) -> int | Literal["content"]:
    """As high as the code, and no higher than `most_px`."""
    return most_px if len(source.splitlines()) * _LINE_PX > most_px else "content"


def _download(code: GeneratedCode) -> None:
    whole = "\n\n".join(code.graphs)
    st.download_button(
        f"Download the whole output, {len(whole.splitlines()):,} lines",
        whole,
        "generated_code.py",
        key="fusion_code_whole",
    )
