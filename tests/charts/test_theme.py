"""Does every key have one colour, and can text be read on it?"""

from __future__ import annotations

import pytest

from explorer.charts.theme import DARK, FAMILY_COLOURS, IDLE_PARTS, LIGHT, Theme, key_label, luminance, theme_named
from explorer.trace import FAMILIES


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_every_family_has_the_same_colour_on_both_themes() -> None:
    assert set(FAMILY_COLOURS) == set(FAMILIES)
    assert all(LIGHT.colour(family) == DARK.colour(family) for family in FAMILIES)


def test_no_gap_part_has_a_familys_colour() -> None:
    for theme in (LIGHT, DARK):
        assert set(theme.idle) == set(IDLE_PARTS)
        assert not set(theme.idle.values()) & set(FAMILY_COLOURS.values())


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_blame_grows_with_contrast_to_the_background(theme: Theme) -> None:
    blame = ("inside_graph", "device_latency", "launch_call", "dispatch", "compile_and_guards", "python_and_host")
    contrasts = [contrast(theme.colour(part), theme.background) for part in blame]
    assert contrasts == sorted(contrasts)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_text_can_be_read_on_every_colour(theme: Theme) -> None:
    for key in (*FAMILIES, *IDLE_PARTS):
        fill = theme.colour(key)
        assert contrast(theme.ink_on(fill), fill) >= 3, key
    assert contrast(theme.muted, theme.background) >= 4.5


def test_every_key_has_words() -> None:
    assert all(" " in key_label(key) or key_label(key).isalpha() for key in (*FAMILIES, *IDLE_PARTS))
    assert not any("_" in key_label(key) for key in (*FAMILIES, *IDLE_PARTS))


def test_unknown_theme_is_light() -> None:
    assert theme_named(None) is LIGHT
    assert theme_named("dark") is DARK
