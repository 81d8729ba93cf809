"""Does the Buckets page say what lists cost this traffic, and whose numbers it uses?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.capture_sizes import vllm_sizes
from explorer.settings import RunSettings
from tests.shared import SHARED, needs_shared
from tests.ui.conftest import EAGER, come_back
from tests.ui.drawn import write_recording
from tests.ui.drawn_sweep import write_sweep
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]


@pytest.fixture
def swept(traces: Path) -> Path:
    """A bundled sweep over vLLM's list to 256."""
    write_sweep(traces / "samples" / "sweep", vllm_sizes(256))
    return traces


def figure_of(app: AppTest, key: str) -> dict[str, Any]:
    charts = app.get("plotly_chart")
    index = ["padding_by_batch", "advisor_curve", "graph_launches"].index(key)
    spec: dict[str, Any] = json.loads(charts[index].proto.spec)
    return spec


def copied(app: AppTest) -> list[str]:
    texts = [json.loads(component.proto.json)["text"] for component in app.get("bidi_component")]
    return [text for text in texts if text]


def test_finding_says_how_few_sizes_do_as_well_as_vllm(swept: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("buckets"))
    found = re.search(r"(\d+) well-chosen sizes lose as little time as vLLM&#x27;s 35\.", page)
    assert found is not None
    assert int(found[1]) < 35
    assert "µs with vLLM" in page
    assert "powers of two" in page


def test_it_says_whose_step_times_these_are(swept: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("buckets"))
    assert "Step times are replayed full graphs of qwen3-0.6b · sweep of 35 sizes to 256, NVIDIA H200, bundled" in page
    assert "read off the line between them" in page


def test_every_list_has_its_row_with_memory_and_start_up(swept: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("buckets"))
    for name in ("vLLM", "SGLang", "powers of two", "best "):
        assert name in page
    assert "1.22 GiB" in page  # vLLM: 200 MiB of pool and 35 × 30 MiB
    assert "5.25 s" in page  # 35 × 150 ms


def test_mean_and_worst_waste_stand_with_each_list(swept: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("buckets"))
    assert (
        "Over every batch size from 1 to 256, 4.6 % of the rows are padding on average and 44 % at a batch of 9."
        in page
    )
    assert "4.2 % of the rows are padding on average and 38 % at a batch of 5." in page


def test_without_a_sweep_rows_are_counted_and_it_says_so(traces: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("buckets"))
    assert "rows with vLLM" in page
    assert "No step times: padding is counted in rows." in page


def test_a_sweep_of_a_cpu_gives_eager_times_and_the_reason(traces: Path, open_page: OpenPage) -> None:
    write_sweep(traces / "runs" / "mine", (1, 2, 4, 8), device="cpu")
    page = html_of(open_page("buckets"))
    assert "Step times are eager steps of" in page
    assert "CUDA graphs need a CUDA device." in page


def test_a_sweep_of_few_sizes_says_what_it_covers(traces: Path, open_page: OpenPage) -> None:
    write_sweep(traces / "runs" / "mine", (1, 2, 4, 8, 16), device="cpu")
    page = html_of(open_page("buckets"))
    assert "vLLM&#x27;s 35" not in page
    assert "Up to 16 rows, one well-chosen size loses as little time as vLLM&#x27;s 5." in page
    assert "The sweep covers batches up to 16 rows; 99 % of this traffic&#x27;s steps lie outside" in page
    assert "a step of –" not in page
    assert "It ends at 16: 99 % of this traffic&#x27;s steps run without a graph." in page


def test_figures_hold_a_line_a_list_and_the_ring_of_the_chosen_number(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    sawteeth = figure_of(app, "padding_by_batch")
    names = [trace["name"] for trace in sawteeth["data"]]
    assert names[:3] == ["vLLM", "SGLang", "powers of two"]
    assert names[3].startswith("best ")
    assert names[4] == "traffic"
    curve = figure_of(app, "advisor_curve")
    ring = next(trace for trace in curve["data"] if trace["name"] == "chosen")
    assert ring["x"] == [app.slider(key="buckets_count").value]
    assert {"vLLM", "SGLang", "powers of two", "elbow"} <= {trace["name"] for trace in curve["data"]}


def test_the_slider_chooses_how_many_sizes_are_copied(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    app.slider(key="buckets_count").set_value(5).run()
    for_vllm, for_sglang = copied(app)
    sizes = json.loads(for_vllm.removeprefix("--compilation-config '").removesuffix("'"))["cudagraph_capture_sizes"]
    assert len(sizes) == 5
    assert sizes[-1] == 256
    assert for_sglang == f"--cuda-graph-bs {' '.join(map(str, sizes))}"


def test_a_list_that_begins_late_says_what_one_row_runs_as(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    app.slider(key="buckets_count").set_value(3).run()
    first = int(copied(app)[1].split()[1])
    assert first > 1
    assert f"fewer rows than {first} runs as {first}" in html_of(app)


def test_share_instead_of_rows(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    rows = figure_of(app, "padding_by_batch")["data"][0]
    app.segmented_control[0].set_value("waste_ratio").run()
    shares = figure_of(app, "padding_by_batch")["data"][0]
    assert rows["y"] != shares["y"]


@pytest.mark.parametrize("traffic", ["bursty", "ramp", "poisson"])
def test_other_traffic_is_drawn(swept: Path, open_page: OpenPage, traffic: str) -> None:
    app = open_page("buckets")
    app.selectbox(key="buckets_traffic").select(traffic).run()
    assert not app.exception
    assert "decode steps" in html_of(app)


def test_choices_outlive_a_change_of_page(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    app.selectbox(key="buckets_traffic").select("bursty").run()
    app.selectbox(key="buckets_largest").select(64).run()
    app.selectbox(key="buckets_sweep").select("").run()
    app.multiselect(key="buckets_lists").set_value(["vLLM"]).run()
    app.slider(key="buckets_count").set_value(3).run()
    app.switch_page("screens/library.py").run()
    app.switch_page("screens/buckets.py").run()
    assert not app.exception
    chosen = [app.selectbox(key=f"buckets_{name}").value for name in ("traffic", "largest", "sweep")]
    assert chosen == ["bursty", 64, ""]
    assert app.multiselect(key="buckets_lists").value == ["vLLM"]
    assert app.slider(key="buckets_count").value == 3


def test_traffic_of_a_file(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    app.selectbox(key="buckets_traffic").select("csv").run()
    app.file_uploader(key="buckets_csv").set_value(("mine.csv", b"3,10\n100,5\n", "text/csv")).run()
    assert "15 decode steps, mine.csv" in html_of(app)
    app.file_uploader(key="buckets_csv").set_value(("bad.csv", b"3\nfour\n", "text/csv")).run()
    page = html_of(app)
    assert "bad.csv, line 2" in page
    assert "steady traffic is shown" in page


@needs_shared
def test_traffic_of_an_engine_s_trace(swept: Path, open_page: OpenPage) -> None:
    app = open_page("library")
    content = (SHARED / "traces" / "mi300_vllm_decode_fullgraph.json.gz").read_bytes()
    app.file_uploader(key="upload_files_0").set_value([("vllm.json.gz", content, "application/gzip")]).run()
    app.switch_page("screens/buckets.py").run()
    app.selectbox(key="buckets_traffic").select("trace").run()
    uploaded = next(option for option in app.selectbox(key="buckets_trace").options if "vllm" in option)
    app.selectbox(key="buckets_trace").select(uploaded).run()
    assert not app.exception
    page = html_of(app)
    assert "1 decode step, " in page
    assert "Of 1 annotated step, 1 ran as a full graph, 0 as pieces, 0 without a graph." in page


def test_a_trace_without_engine_steps_is_said(swept: Path, open_page: OpenPage) -> None:
    write_recording(swept / "samples" / "eager", EAGER)
    app = open_page("buckets")
    app.selectbox(key="buckets_traffic").select("trace").run()
    app.selectbox(key="buckets_trace").select_index(0).run()
    assert "has no step that says its batch size" in html_of(app)


def test_own_list_and_its_mistakes(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    app.multiselect(key="buckets_lists").set_value(["vLLM", "own list"]).run()
    app.text_input(key="buckets_own").set_value("[64, 256]").run()
    assert figure_of(app, "padding_by_batch")["data"][1]["name"] == "own list"
    app.text_input(key="buckets_own").set_value("64 many").run()
    assert "is no list of sizes" in html_of(app)


def test_a_largest_size_beyond_the_sweep_and_a_short_list_are_no_obstacle(swept: Path, open_page: OpenPage) -> None:
    app = open_page("buckets")
    app.selectbox(key="buckets_largest").select(512).run()
    assert not app.exception
    assert "The sweep ends at 256 rows" in html_of(app)
    app.multiselect(key="buckets_lists").set_value(["own list"]).run()
    app.text_input(key="buckets_own").set_value("1 2 4").run()
    assert not app.exception
    assert "Lists that end below 256 are not on the curve." in html_of(app)


def test_modes_and_traps_are_explained(swept: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("buckets"))
    for words in (
        "FULL_AND_PIECEWISE",
        "decode of 257",
        "are more than the largest captured size",
        "the replay gave 3",
    ):
        assert words in page
    assert "AcceleratorError: operation not permitted (traps.py:1" in page
    assert "the worker was alive" in page


def test_a_machine_without_a_gpu_measures_eager_steps_and_says_why(
    swept: Path, open_page: OpenPage, quick_engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.machine.default_device", lambda: "cpu")
    app = open_page("buckets")
    assert "Capturing needs a CUDA device" in html_of(app)
    app.button(key="sweep_start").click().run()
    assert not app.exception
    named = app.query_params["sweep"]
    come_back(app, "buckets")
    assert app.query_params["sweep"] == named


def test_launches_stand_beside_kernels(swept: Path, open_page: OpenPage) -> None:
    write_recording(swept / "samples" / "eager", EAGER)
    write_recording(swept / "samples" / "graph", RunSettings(model="qwen3-0.6b", device="cuda", mode="cuda_graph"))
    app = open_page("buckets")
    drawn = figure_of(app, "graph_launches")
    kernels = next(trace for trace in drawn["data"] if trace.get("name") == "kernels")
    assert kernels["y"] == ["NONE", "FULL"]
    assert "Coverage" in html_of(app)
