"""Does the Attention page show choices, refusals, what would help, masks, graphs and a run's backends?"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.facts import facts_to_json
from explorer.probe_results import ProbeResults
from explorer.recording import FACTS_FILE, RESULTS_FILE, write_json
from explorer.settings import RunSettings
from tests.drawn_probe import drawn_facts, drawn_results, write_probe
from tests.ui.conftest import come_back
from tests.ui.drawn import write_recording
from tests.ui.test_compare_page import figures_of, html_of

OpenPage = Callable[..., AppTest]


@pytest.fixture
def probed(pair: Path) -> Path:
    """Two bundled runs and a bundled probe."""
    write_probe(pair / "samples" / "attention")
    return pair


def pick(app: AppTest, label: str, backend: str) -> AppTest:
    """What a click on a cell of the matrix does."""
    app.session_state["attention_cell"] = (label, backend)
    return app.run()


def test_page_opens_with_the_finding_and_the_choice_that_loses_most(probed: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("attention"))
    assert "cuDNN is chosen in 3 of 4 settings; in one setting a faster backend could have run." in page
    assert "NVIDIA H200, torch 2.11.0, cuDNN 9.19.0." in page
    assert "cuDNN 82.0 µs" in page
    assert "chunked prefill" in page


def test_matrix_holds_every_call_and_marks_the_slower_choice(probed: Path, open_page: OpenPage) -> None:
    matrix = figures_of(open_page("attention"))[0]
    texts = [text for trace in matrix["data"] for text in trace["text"]]
    assert "<b>82.0 µs ★</b> " in texts
    assert "mask given " in texts
    assert "out of memory " in texts
    assert sum("<b>" in text for text in texts) == 4


def test_refused_cell_says_why_and_what_would_make_it_possible(probed: Path, open_page: OpenPage) -> None:
    app = pick(open_page("attention"), "decode with mask", "flash")
    page = html_of(app)
    assert "Takes no mask" in page
    assert "PyTorch&#x27;s sentence about flash." in page
    assert "What would make flash possible?" in page
    assert "No mask." in page
    assert "Nearest setting of this probe that it ran: decode" in page


def test_changed_choice_shows_which_cells_flip(probed: Path, open_page: OpenPage) -> None:
    app = pick(open_page("attention"), "decode with mask", "flash")
    assert app.selectbox(key="attention_turn_name").value == "mask"
    assert "possible ⇄" in html_of(app)


def test_failed_cell_is_shown_with_its_sentence_and_text_is_escaped(probed: Path, open_page: OpenPage) -> None:
    page = html_of(pick(open_page("attention"), "huge <prefill>", "math"))
    assert "Ran out of memory" in page
    assert "CUDA out of memory." in page
    assert "huge &lt;prefill&gt;" in page
    assert "<prefill>" not in page


def test_buttons_open_the_faster_cell_and_flashs_refusal(probed: Path, open_page: OpenPage) -> None:
    app = open_page("attention")
    (gain,) = [button for button in app.button if str(button.key).startswith("attention_gain_")]
    assert gain.label == "Chunked prefill: efficient is 1.41 × faster than the chosen cuDNN."
    gain.click().run()
    assert "efficient 58.0 µs" in html_of(app)
    app.button(key="attention_flash").click().run()
    assert "flash refuses" in html_of(app)


def test_mask_lens_warns_about_unequal_lengths_only(probed: Path, open_page: OpenPage) -> None:
    app = open_page("attention")
    assert "the last query sees 4 of 10 keys (40.0 %)" in html_of(app)
    assert "21 of 55 pairs" in html_of(app)
    app.number_input(key="lens_queries").set_value(1)
    app.number_input(key="lens_keys").set_value(8)
    app.run()
    assert "the only query sees 1 of 8 keys (12.5 %)" in html_of(app)
    app.number_input(key="lens_queries").set_value(8).run()
    assert "aligned upper left: the" not in html_of(app)


def test_padding_mask_passed_as_it_is_is_flagged(probed: Path, open_page: OpenPage) -> None:
    assert "keeps exactly the tail of the keys" in html_of(open_page("attention"))


def test_graph_tries_and_kept_backends_are_loud_where_wrong(probed: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("attention"))
    assert "wrong result" in page
    assert "Forcing flash around a function compiled under math: math ran" in page
    assert "vLLM 0.33" in page


def test_runs_of_the_sidebar_say_asked_chosen_and_ran(probed: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("attention"))
    assert page.count("Asked for: nothing in particular.") == 2
    assert "of the busy time" in page


def test_mismatch_of_a_run_is_loud(probed: Path, open_page: OpenPage) -> None:
    settings = RunSettings(model="qwen3-0.6b", device="cuda", mode="eager", attention="math")
    write_recording(probed / "samples" / "asked-math", settings)
    page = html_of(open_page("attention", a="sample:asked-math"))
    assert "Another backend ran than was wanted" in page


def test_two_probes_stand_side_by_side(probed: Path, open_page: OpenPage) -> None:
    write_probe(probed / "runs" / "mine", device="NVIDIA L4")
    page = html_of(open_page("attention"))
    assert "Of 4 settings that both tried, every choice is the same." in page
    assert "NVIDIA L4" in page


def test_address_names_the_probe(probed: Path, open_page: OpenPage) -> None:
    write_probe(probed / "runs" / "mine", device="NVIDIA L4")
    app = open_page("attention", probe="run:mine")
    assert "NVIDIA L4, torch 2.11.0" in html_of(app)
    assert app.query_params["probe"] in ("run:mine", ["run:mine"])


def test_cpu_probe_says_that_cpu_and_cuda_differ(probed: Path, open_page: OpenPage) -> None:
    on_cpu = dataclasses.replace(drawn_results(), build_backends=["flash", "math"])
    write_probe(probed / "runs" / "cpu", on_cpu, device="a CPU")
    page = html_of(open_page("attention", probe="run:cpu"))
    assert "CPU and CUDA differ" in page
    assert "Time of a call on the CPU, median of 15 repeats." in page
    assert "Device time" not in page


def test_repeats_are_those_of_all_times(probed: Path, open_page: OpenPage) -> None:
    first, *others = drawn_results().calls
    fewer = dataclasses.replace(first, cells=[dataclasses.replace(cell, repeat_count=3) for cell in first.cells])
    write_probe(probed / "runs" / "own", dataclasses.replace(drawn_results(), calls=[fewer, *others]))
    assert "Device time, median of 3 to 15 repeats." in html_of(open_page("attention", probe="run:own"))


def test_incomplete_probe_shows_what_it_found(probed: Path, open_page: OpenPage) -> None:
    facts = dataclasses.replace(drawn_facts(), state="failed")
    write_json(probed / "samples" / "attention" / FACTS_FILE, facts_to_json(facts))
    page = html_of(open_page("attention"))
    assert "This probe is incomplete" in page
    assert "cuDNN is chosen in 3 of 4 settings" in page


def test_probe_without_a_single_call_says_so(probed: Path, open_page: OpenPage) -> None:
    write_probe(probed / "runs" / "empty", ProbeResults())
    assert "ended before its first setting" in html_of(open_page("attention", probe="run:empty"))


def test_damaged_results_get_a_box(probed: Path, open_page: OpenPage) -> None:
    path = probed / "samples" / "attention" / RESULTS_FILE
    path.write_text(json.dumps({"something": "else"}), encoding="utf-8")
    page = html_of(open_page("attention"))
    assert "This probe cannot be shown" in page
    assert "Probe this machine" in page


def test_page_without_any_probe_offers_to_make_one(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("attention"))
    assert "Probe this machine to find out." in page
    assert "Who sees whom" in page


def test_probe_is_started_and_followed(probed: Path, open_page: OpenPage, quick_engine: None) -> None:
    app = open_page("attention")
    app.button(key="probe_start").click().run()
    assert not app.exception
    (folder,) = list((probed / "runs").iterdir())
    saved = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    assert saved["experiment"] == "probe"
    assert saved["device"] == "cpu"
    named = app.query_params["probing"]
    come_back(app, "attention")
    assert app.query_params["probing"] == named
