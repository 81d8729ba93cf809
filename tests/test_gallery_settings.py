"""Which galleries can be asked for, and do settings and results survive their JSON?"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from explorer.errors import RecordingError, SettingsError
from explorer.experiments import settings_from_json, settings_to_json
from explorer.gallery_results import (
    ExpressionResult,
    GalleryResults,
    GeneratedKernel,
    GraphBreak,
    OperatorUse,
    results_from_json,
    results_to_json,
)
from explorer.gallery_settings import GallerySettings


def test_settings_survive_their_json() -> None:
    settings = GallerySettings(expressions=("softmax",), row_count=7, own_function="package.module:name")
    assert settings_from_json(json.loads(json.dumps(settings_to_json(settings)))) == settings


def test_results_survive_their_json() -> None:
    use = OperatorUse(name="aten::mul", reads=["x0"], writes=["out"], read_bytes=4, written_bytes=4, is_view=False)
    results = GalleryResults(
        expressions=[
            ExpressionResult(
                name="own",
                title="mine",
                source="def f(x): ...",
                operators=[use],
                kernels=[GeneratedKernel(name="triton_poi_fused_mul_0", operators=["mul"], lines=[1])],
                graph_breaks=[GraphBreak(reason="because", place="f.py, line 1", line=1)],
            )
        ]
    )
    assert results_from_json(json.loads(json.dumps(results_to_json(results)))) == results


def test_results_of_something_else_are_refused() -> None:
    with pytest.raises(RecordingError, match="no gallery"):
        results_from_json({"calls": []})


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("expressions", ("nonsense",), "nonsense"),
        ("hidden_size", 12, "multiple of 8"),
        ("row_count", 0, "row_count"),
        ("own_function", "os.system('x')", "package.module:name"),
        ("device", "tpu", "device"),
    ],
)
def test_impossible_gallery_is_refused_with_a_reason(field: str, value: Any, said: str) -> None:
    settings = dataclasses.replace(GallerySettings(), **{field: value})
    assert any(said in reason for reason in settings.refusals())
    with pytest.raises(SettingsError, match=r"choose|name it"):
        GallerySettings.from_json({field: value})


def test_nothing_to_compile_is_refused() -> None:
    assert GallerySettings(expressions=()).refusals() == [
        "Nothing to compile: name an expression or give a function of your own."
    ]
