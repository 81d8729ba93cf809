"""Does the first page say what B changed, with the right figures, and survive what is missing?"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.ui.conftest import EAGER, GRAPH
from tests.ui.drawn import write_recording, write_trace

OpenPage = Callable[..., AppTest]


def html_of(app: AppTest) -> str:
    return "\n".join(element.proto.body for element in app.get("html"))


def figures_of(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(element.proto.spec) for element in app.get("plotly_chart")]


def test_home_opens_with_the_bundled_pair_and_a_finding(pair: Path, open_page: OpenPage) -> None:
    app = open_page()
    assert "B&#x27;s step is 3.33 times shorter." in html_of(app)
    assert "Only the mode differs." in html_of(app)
    assert app.query_params["a"] == "sample:eager"
    assert app.query_params["b"] == "sample:graph"


def test_unprofiled_step_leads_and_the_profiled_stands_beside_it(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page())
    assert "400<span" in page
    assert "profiled 239 µs → 119 µs" in page


def test_every_card_has_its_change_in_words(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page())
    for words in ("3.33 × shorter", "the same", "limit 312 µs", "3.33 × closer to it"):
        assert words in page


def test_limits_of_the_same_work_on_one_device_that_differ_are_calibrations(pair: Path, open_page: OpenPage) -> None:
    assert "calibrations differ" not in html_of(open_page())
    path = pair / "samples" / "graph" / "facts.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["calibration"]["read_bandwidth_bytes_per_s"] /= 3
    path.write_text(json.dumps(facts), encoding="utf-8")
    assert "limit 312 µs / 937 µs: calibrations differ" in html_of(open_page())


def test_bars_and_timelines_show_the_same_step(pair: Path, open_page: OpenPage) -> None:
    app = open_page()
    (bars,) = figures_of(app)
    assert {trace["name"] for trace in bars["data"]} >= {"matmul", "elementwise", "attention", "python_and_host"}
    timelines = json.loads(app.get("bidi_component")[0].proto.json)
    assert [run["letter"] for run in timelines["runs"]] == ["a", "b"]
    assert timelines["is_compact"]


def test_a_link_opens_the_runs_that_it_names(pair: Path, open_page: OpenPage) -> None:
    app = open_page(a="sample:graph", b="sample:eager")
    assert "B&#x27;s step is 3.33 times longer." in html_of(app)


def test_swap_turns_the_comparison_round_in_the_address_too(pair: Path, open_page: OpenPage) -> None:
    app = open_page()
    app.button(key="swap").click().run()
    assert app.query_params["a"] == "sample:graph"
    assert "times longer" in html_of(app)


def test_choosing_another_run_changes_the_page(pair: Path, open_page: OpenPage) -> None:
    app = open_page()
    app.selectbox(key="picker_b").select("sample:eager").run()
    assert "Both steps take the same" in html_of(app)


def test_a_run_that_is_gone_gets_a_box_and_the_other_stays(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page(a="run:deleted", b="sample:graph"))
    assert "A is not here" in page
    assert "“run:deleted”, which is not on this server" in page
    assert "B: qwen3-0.6b · batch 1 · compile + CUDA graph" in page


def test_a_run_without_a_trace_says_why(pair: Path, open_page: OpenPage) -> None:
    write_recording(pair / "runs" / "stopped", EAGER, with_trace=False, state="failed")
    page = html_of(open_page(a="run:stopped", b="sample:graph"))
    assert "A cannot be shown" in page
    assert "The worker process disappeared. It was at stage" in page


def test_wrong_results_are_marked_loudly(pair: Path, open_page: OpenPage) -> None:
    write_recording(pair / "runs" / "wrong", GRAPH, passed=False)
    opened = open_page(b="run:wrong")
    page = html_of(opened)
    assert "B computes wrong results" in page
    assert "off by 90 %" in page
    written = json.dumps(figures_of(opened)[0], ensure_ascii=False)
    assert "<b>B ✗ wrong results</b>" in written
    assert "A ✗" not in written


def test_what_differs_beside_the_setting_under_study_comes_first(pair: Path, open_page: OpenPage) -> None:
    write_recording(pair / "runs" / "larger", replace(GRAPH, batch_size=8))
    page = html_of(open_page(b="run:larger"))
    assert "Not a fair comparison" in page
    assert "Batch 1 → 8 · Mode eager → compile + CUDA graph" in page


def test_a_trace_without_steps_is_compared_whole_with_the_whole_other_one(pair: Path, open_page: OpenPage) -> None:
    """Two steps of three kernels are one stretch of six on both sides."""
    unmarked = write_recording(pair / "runs" / "unmarked", EAGER)
    write_trace(unmarked, 100.0, without=["user_annotation"])
    page = html_of(open_page(b="run:unmarked"))
    assert "Only one side marks steps" in page
    assert "profiled 1.21 ms → 1.21 ms" in page
    assert "Only one side" not in html_of(open_page(a="run:unmarked", b="run:unmarked"))


def test_whole_traces_are_not_called_steps_and_the_window_is_named(pair: Path, open_page: OpenPage) -> None:
    unmarked = write_recording(pair / "runs" / "unmarked", EAGER)
    write_trace(unmarked, 100.0, without=["user_annotation"])
    page = html_of(open_page(a="run:unmarked", b="run:unmarked"))
    assert "the whole trace, from its first work to its last" in page
    for words in ("the first profiled step", "a step, on average", "the profiled step", "host launches a step"):
        assert words not in page


def test_a_trace_without_calls_has_unknown_launches_and_says_so(pair: Path, open_page: OpenPage) -> None:
    unlinked = write_recording(pair / "runs" / "unlinked", EAGER)
    write_trace(unlinked, 100.0, without=["user_annotation", "cuda_runtime"])
    page = html_of(open_page(a="run:unlinked", b="run:unlinked"))
    assert "No piece of GPU work has a known launch." in page
    gaps = html_of(open_page("gaps", a="run:unlinked", b="run:unlinked"))
    assert "Nobody can tell: 1.12 ms of idle time are unattributed" in gaps
    assert "1.12 ms of idle time are unattributed." in gaps
    assert "No launch came late" not in gaps


def test_a_note_that_only_one_side_has_is_said_of_that_side(pair: Path, open_page: OpenPage) -> None:
    path = pair / "samples" / "eager" / "facts.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["profile"].update(step_latencies_ns=[200_000, 200_000], slowdown_ratio=0.5)
    path.write_text(json.dumps(facts), encoding="utf-8")
    page = html_of(open_page())
    assert "A: The median step took 400 µs without the profiler and 200 µs under it" in page


def test_an_empty_library_says_what_to_do(traces: Path, open_page: OpenPage) -> None:
    app = open_page()
    assert "Nothing to compare yet." in html_of(app)
    assert [button.label for button in app.button if button.key == "run_these"] == ["Start two runs"]


def test_a_sessions_choice_outlives_a_change_of_page(pair: Path, open_page: OpenPage) -> None:
    app = open_page(a="sample:graph", b="sample:graph")
    app.switch_page("screens/gaps.py").run()
    assert app.selectbox(key="picker_a").value == "sample:graph"
    assert app.query_params["a"] == "sample:graph"
