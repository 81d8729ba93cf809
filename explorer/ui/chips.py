"""What is this run, in one line under its picker?"""

from __future__ import annotations

from html import escape

from explorer.attention_names import BACKEND_LABELS, backend_that_ran
from explorer.facts import Correctness, Facts
from explorer.settings import MODE_LABELS, RunSettings
from explorer.ui.marking import WRONG, is_wrong
from explorer.ui.sources import KIND_LABELS, Source
from explorer.units import text

_STATE_WORDS = {"running": "still running", "failed": "failed", "cancelled": "cancelled", "lost": "stopped unseen"}


def chip_line(source: Source) -> str:
    """HTML: model, phase, batch, context, mode, backend, GPU, and where it comes from."""
    words = [escape(word) for word in _words(source)]
    if source.settings is not None:
        words.insert(-2, _attention_words(source.settings, source.facts))
    if source.problem:
        words.append('<span class="bad">cannot be opened</span>')
    elif source.state in _STATE_WORDS:
        words.append(f'<span class="bad">{_STATE_WORDS[source.state]}</span>')
    elif is_wrong(source.facts):
        words.append(f'<span class="bad">{WRONG}</span>')
    return f'<div class="chips">{" · ".join(words)}</div>'


def device_name(source: Source) -> str:
    """The device that measured, or a word for not knowing."""
    if source.facts and source.facts.environment:
        return source.facts.environment.device_name
    return "" if source.settings is None else source.settings.device


def wrong_results(checked: Correctness) -> str:
    """What a failed check found, in a sentence."""
    return (
        f"Against eager float32 the logits are off by {text(checked.logits_error_ratio, 'ratio')} and the KV cache by "
        f"{text(checked.kv_cache_error_ratio, 'ratio')}, where {text(checked.error_limit_ratio, 'ratio')} is allowed; "
        f"{text(checked.token_agreement_ratio, 'ratio')} of the tokens agree. Its speed means nothing until that is "
        "mended."
    )


def settings_words(settings: RunSettings) -> list[str]:
    """The settings that tell runs apart, in words."""
    words = [
        settings.model,
        settings.phase,
        f"batch {settings.batch_size:,}",
        f"context {settings.context_tokens:,}",
        MODE_LABELS[settings.mode],
        settings.dtype,
    ]
    if settings.joined_projections:
        words.append("joined projections")
    if settings.autotune:
        words.append("autotuned")
    words.append("attention " + settings.attention)
    return words


def _attention_words(settings: RunSettings, facts: Facts | None) -> str:
    """HTML: what was asked and what ran side by side; loud where they differ."""
    ran = backend_that_ran(facts.attention_kernels) if facts else None
    if ran is None or ran == settings.attention:
        return f"{settings.attention} attention"
    label = BACKEND_LABELS[ran]
    if settings.attention == "auto":
        return f"auto attention, {label} ran"
    return f'<span class="bad">{settings.attention} attention asked, {label} ran</span>'


def _words(source: Source) -> list[str]:
    if source.settings is None:
        return [KIND_LABELS[source.kind], "no settings beside it"]
    return [*settings_words(source.settings)[:-1], device_name(source), KIND_LABELS[source.kind]]
