"""How does a person choose A's and B's settings? One row a setting, A left, B right; B is a copy of A until changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from explorer.model_shapes import MODEL_SHAPES
from explorer.settings import CHOICES, MODE_LABELS, RunSettings, default_cache_tokens
from explorer.ui.machine import Machine

_COLUMNS = (1.1, 2, 2)


@dataclass(frozen=True)
class Row:
    """One setting's row: `options` for a choice, none for a number with `limits` or for a text."""

    name: str
    label: str
    help: str
    options: tuple[Any, ...] = ()
    option_labels: Mapping[Any, str] | None = None
    limits: tuple[int, int] | None = None

    def option_label(self, option: object) -> str:
        return (self.option_labels or {}).get(option, str(option))


_OFF_ON = {False: "off", True: "on"}
MAIN_ROWS = (
    Row("model", "Model", "Seeded random weights at the true shape; tiny runs anywhere.", tuple(MODEL_SHAPES)),
    Row(
        "mode",
        "Mode",
        "How a step is run: eagerly, compiled, replayed from a CUDA graph.",
        CHOICES["mode"],
        MODE_LABELS,
    ),
    Row("phase", "Phase", "Decode makes one token a row; prefill reads the whole prompt.", CHOICES["phase"]),
    Row("batch_size", "Batch", "Rows (sequences) of a step.", limits=(1, 4096)),
    Row("context_tokens", "Context", "Tokens a row has before the step; for prefill, the prompt.", limits=(1, 131072)),
    Row("attention", "Attention", "The backend asked for; the recording says which one ran.", CHOICES["attention"]),
    Row(
        "joined_projections",
        "Projections",
        "Joined: q, k and v in one matrix product, gate and up in another.",
        (False, True),
        {False: "separate", True: "joined"},
    ),
)
MORE_ROWS = (
    Row("compile_scope", "Compile", "The whole model at once, or one layer that all share.", CHOICES["compile_scope"]),
    Row("autotune", "Autotune", "Time kernel variants while compiling.", (False, True), _OFF_ON),
    Row("dtype", "Number format", "Of weights and activations.", CHOICES["dtype"]),
    Row("device", "Device", "Where the step runs.", CHOICES["device"], {"cuda": "GPU (CUDA)", "cpu": "CPU"}),
    Row("warmup_steps", "Warm-up steps", "Run first and not measured.", limits=(0, 1000)),
    Row(
        "measured_steps",
        "Measured steps",
        "Run without the profiler; their median is the step time.",
        limits=(1, 10000),
    ),
    Row("profiled_steps", "Profiled steps", "Run under the profiler; these make the timeline.", limits=(1, 20)),
    Row("seed", "Seed", "Of the weights and the inputs.", limits=(0, 2**31 - 1)),
    Row("weights_folder", "Weights", "A Hugging Face folder on this machine; empty means seeded random weights."),
)
_ROWS = {row.name: row for row in (*MAIN_ROWS, *MORE_ROWS)}


def key_of(letter: str, name: str) -> str:
    """The session-state key of a setting's widget."""
    return f"setting_{letter}_{name}"


def label_of(name: str, otherwise: str) -> str:
    """What the form calls a setting; `otherwise` for what is none."""
    return _ROWS[name].label if name in _ROWS else otherwise


def option_text(name: str, value: str) -> str:
    """What the form calls a setting's value, given as text: `True` of autotune is `on`."""
    row = _ROWS.get(name)
    options = {str(option): row.option_label(option) for option in row.options} if row else {}
    return options.get(value, value)


def fill_form(machine: Machine) -> None:
    """Gives the form its first settings: eager on this machine's device, with a model that it can hold."""
    if key_of("a", "model") in st.session_state:
        return
    model = "qwen3-0.6b" if machine.device == "cuda" else "tiny"
    load_settings("a", RunSettings(model=model, device=machine.device))
    st.session_state["b_changed"] = frozenset()
    _follow_a()


def load_settings(letter: str, settings: RunSettings) -> None:
    """Puts settings into one side of the form."""
    for name in _ROWS:
        st.session_state[key_of(letter, name)] = getattr(settings, name)
    if letter == "b":
        _note_changes()


def draw_form() -> tuple[RunSettings, RunSettings]:
    """Draws both sides and returns what they say; whether it can run is `refusals`' to tell."""
    _follow_a()
    _head()
    for row in MAIN_ROWS:
        _draw_row(row)
    changed = st.session_state["b_changed"] & {row.name for row in MORE_ROWS}
    with st.expander("More settings" + (f" · {len(changed)} differ" if changed else ""), key="more_settings"):
        for row in MORE_ROWS:
            _draw_row(row)
    return _settings("a"), _settings("b")


def _head() -> None:
    _, left, right = st.columns(_COLUMNS, vertical_alignment="center")
    left.markdown("**A** &nbsp; first run")
    with right, st.container(horizontal=True, vertical_alignment="center", gap="small"):
        changed = st.session_state["b_changed"]
        st.markdown("**B** &nbsp; " + _changes_words(len(changed)))
        if changed:
            st.button("copy A again", key="copy_a", type="tertiary", on_click=_copy_a)


def _changes_words(count: int) -> str:
    if count == 0:
        return "a copy of A until changed"
    return "1 setting differs" if count == 1 else f"{count} settings differ"


def _draw_row(row: Row) -> None:
    differs = row.name in st.session_state["b_changed"]
    label, left, right = st.columns(_COLUMNS, vertical_alignment="center")
    label.markdown(f"**{row.label}** :primary[● differs]" if differs else row.label, help=row.help)
    with left:
        _draw_widget(row, "a", None)
    with right:
        _draw_widget(row, "b", _note_changes)


def _draw_widget(row: Row, letter: str, on_change: Callable[[], None] | None) -> None:
    label = f"{row.label} of {letter.upper()}"
    key = key_of(letter, row.name)
    if row.options:
        st.selectbox(
            label,
            row.options,
            format_func=row.option_label,
            key=key,
            on_change=on_change,
            label_visibility="collapsed",
            persist_state="session",
        )
    elif row.limits:
        low, high = row.limits
        st.number_input(
            label,
            min_value=low,
            max_value=high,
            step=1,
            key=key,
            on_change=on_change,
            label_visibility="collapsed",
            persist_state="session",
        )
    else:
        st.text_input(
            label,
            key=key,
            on_change=on_change,
            label_visibility="collapsed",
            persist_state="session",
            placeholder="seeded random",
        )


def _settings(letter: str) -> RunSettings:
    fields = {name: st.session_state[key_of(letter, name)] for name in _ROWS}
    fields["weights_folder"] = fields["weights_folder"] or None
    return RunSettings(**fields, cache_tokens=default_cache_tokens(fields["context_tokens"]))


def _note_changes() -> None:
    st.session_state["b_changed"] = frozenset(
        name for name in _ROWS if st.session_state[key_of("b", name)] != st.session_state[key_of("a", name)]
    )


def _follow_a() -> None:
    for name in _ROWS:
        if name not in st.session_state["b_changed"]:
            st.session_state[key_of("b", name)] = st.session_state[key_of("a", name)]
    _note_changes()


def _copy_a() -> None:
    st.session_state["b_changed"] = frozenset()
    _follow_a()
