"""Can two settings be chosen, started, followed and opened, and are wrong ones refused in place?"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.facts import Environment, Facts
from explorer.settings import RunSettings
from explorer.ui import machine
from explorer.ui.cost import most_similar
from explorer.ui.sources import Source, SourceKind
from tests.ui.conftest import come_back
from tests.ui.test_compare_page import html_of

OpenPage = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "default_device", lambda: "cpu")


def start(app: AppTest, **settings_of_b: object) -> AppTest:
    for name, value in settings_of_b.items():
        app.selectbox(key=f"setting_b_{name}").select(value)
    app.run()
    return app.button(key="run_both").click().run()


def until_ended(app: AppTest, seconds: float = 20.0) -> AppTest:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        app.run()
        page = html_of(app)
        if "waiting for the device" not in page and "running ·" not in page:
            return app
        time.sleep(0.1)
    raise AssertionError("the runs did not end")


def test_b_copies_a_until_it_is_changed(traces: Path, open_page: OpenPage) -> None:
    app = open_page("run")
    app.number_input(key="setting_a_batch_size").set_value(4).run()
    assert app.number_input(key="setting_b_batch_size").value == 4
    app.number_input(key="setting_b_batch_size").set_value(8).run()
    app.number_input(key="setting_a_batch_size").set_value(2).run()
    assert app.number_input(key="setting_b_batch_size").value == 8
    assert any("Batch" in markdown.value and "differs" in markdown.value for markdown in app.markdown)


def test_copying_a_again_forgets_the_changes(traces: Path, open_page: OpenPage) -> None:
    app = open_page("run")
    app.selectbox(key="setting_b_mode").select("compile").run()
    app.button(key="copy_a").click().run()
    assert app.selectbox(key="setting_b_mode").value == "eager"


def test_settings_outlive_a_change_of_page(traces: Path, open_page: OpenPage) -> None:
    app = open_page("run")
    app.selectbox(key="setting_b_mode").select("compile").run()
    app.switch_page("screens/library.py").run()
    app.switch_page("screens/run.py").run()
    assert app.selectbox(key="setting_b_mode").value == "compile"


def test_a_refused_combination_says_why_and_cannot_start(traces: Path, open_page: OpenPage) -> None:
    app = open_page("run")
    app.selectbox(key="setting_b_mode").select("cuda_graph").run()
    assert "B cannot run" in html_of(app)
    assert "which need a CUDA device" in html_of(app)
    assert app.button(key="run_both").disabled


def test_a_gpu_that_is_not_there_is_refused_in_place(traces: Path, open_page: OpenPage) -> None:
    app = open_page("run")
    app.selectbox(key="setting_a_device").select("cuda").run()
    assert "This machine has no GPU" in html_of(app)
    assert app.button(key="run_both").disabled


def test_memory_that_is_not_there_is_said_before_the_run(
    traces: Path, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_host_memory", lambda: (2**30, 2**20))
    page = html_of(open_page("run"))
    assert "only 1.00 MiB free" in page


def source_of(name: str, settings: RunSettings, device: str, started_unix_s: float = 0.0) -> Source:
    facts = Facts(
        environment=Environment(device_name=device, python_version="", torch_version=""), started_unix_s=started_unix_s
    )
    kind: SourceKind = "sample" if name.startswith("sample") else "run"
    return Source(f"{kind}:{name}", kind, name, Path(name), Path(name), settings, facts, "finished")


def test_the_most_similar_run_is_the_one_on_the_same_gpu_then_of_the_same_settings_then_the_newest() -> None:
    mine = RunSettings(model="qwen3-0.6b", device="cuda", batch_size=8, context_tokens=300)
    sources = [
        source_of("sample", replace(mine, batch_size=1), "NVIDIA H200"),
        source_of("elsewhere", mine, "NVIDIA L4", 9.0),
        source_of("other batch", replace(mine, batch_size=4), "NVIDIA H200", 9.0),
        source_of("other context", replace(mine, context_tokens=500), "NVIDIA H200", 9.0),
        source_of("other attention", replace(mine, attention="math"), "NVIDIA H200", 9.0),
    ]
    for expected in ("other attention", "other context", "other batch", "sample", "elsewhere"):
        assert most_similar(mine, sources, "NVIDIA H200") == next(one for one in sources if one.title == expected)
        sources = [source for source in sources if source.title != expected]
    assert most_similar(mine, sources, "NVIDIA H200") is None
    twins = [source_of(name, mine, "NVIDIA H200", when) for name, when in (("old", 1.0), ("new", 2.0), ("older", 0.5))]
    assert most_similar(mine, twins, "NVIDIA H200") == twins[1]


def test_an_own_run_of_a_processor_is_more_like_it_than_a_bundled_one() -> None:
    mine = RunSettings()
    sources = [source_of("sample", mine, "AMD EPYC"), source_of("own", replace(mine, batch_size=2), "Intel Xeon")]
    assert most_similar(mine, sources, "CPU") == sources[1]


@pytest.mark.usefixtures("quick_engine")
def test_two_runs_are_followed_to_their_end_and_open_in_compare(traces: Path, open_page: OpenPage) -> None:
    app = until_ended(start(open_page("run"), mode="compile"))
    assert html_of(app).count("finished ·") == 2
    app.button(key="open_compare").click().run()
    assert "B&#x27;s step is 3.33 times shorter." in html_of(app)


@pytest.mark.usefixtures("quick_engine")
def test_the_address_finds_the_runs_after_a_reload(traces: Path, open_page: OpenPage) -> None:
    app = until_ended(start(open_page("run"), mode="compile"))
    named = app.query_params["runs"]
    again = open_page("run", runs=named if isinstance(named, str) else named[0])
    assert html_of(again).count("finished ·") == 2


@pytest.mark.usefixtures("quick_engine")
def test_runs_are_still_there_after_another_page_until_they_are_put_away(traces: Path, open_page: OpenPage) -> None:
    app = start(open_page("run"), mode="compile")
    assert "put_away_runs" not in {button.key for button in app.button}
    named = app.query_params["runs"]
    come_back(app, "run")
    assert app.query_params["runs"] == named
    until_ended(app)
    assert html_of(app).count("finished ·") == 2
    assert app.button(key="open_compare").label == "Open in Compare"
    app.button(key="put_away_runs").click().run()
    assert "runs" not in app.query_params
    assert "finished ·" not in html_of(app)


@pytest.mark.usefixtures("quick_engine")
def test_a_failed_run_says_at_which_stage_and_the_other_goes_on(traces: Path, open_page: OpenPage) -> None:
    app = open_page("run")
    app.number_input(key="setting_b_seed").set_value(13).run()
    app = until_ended(app.button(key="run_both").click().run())
    page = html_of(app)
    assert "B was not measured" in page
    assert "Out of memory while building the model." in page
    assert "stopped here" in page
    assert app.button(key="open_compare").label == "Open the finished run in Compare"


def test_runs_that_are_gone_are_said_to_be(traces: Path, open_page: OpenPage) -> None:
    app = AppTest.from_file(str(Path(__file__).parents[2] / "explorer" / "ui" / "main.py"), default_timeout=90)
    app.run()
    app.switch_page("screens/run.py")
    app.query_params["runs"] = "20260101-000000-a"
    app.run()
    assert "These runs are gone" in html_of(app)
