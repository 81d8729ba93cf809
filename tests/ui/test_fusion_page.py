"""Does the Fusion page show what became of the kernels, of a pair and of an expression?"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.analysis.fusion_kernels import step_kernels
from explorer.facts import Facts, facts_to_json
from explorer.gallery_results import (
    ExpressionResult,
    GalleryResults,
    GeneratedKernel,
    OperatorUse,
    SideResult,
    results_to_json,
)
from explorer.gallery_settings import EXPRESSION_TITLES, GallerySettings
from explorer.generated_code import (
    GeneratedCode,
    KernelCall,
    KernelText,
    OperatorSource,
    SourceLine,
    code_to_json,
)
from explorer.ingest import read_trace
from explorer.recording import CODE_FILE, FACTS_FILE, RESULTS_FILE, Recording, create_recording, write_json
from explorer.settings import RunSettings
from explorer.ui.sources import add_upload
from tests.shared import SHARED, needs_shared
from tests.ui.drawn import write_recording, write_trace
from tests.ui.test_compare_page import figures_of, html_of

OpenPage = Callable[..., AppTest]
SAMPLES = Path(__file__).parents[2] / "traces" / "samples"


@pytest.fixture
def bundled(traces: Path) -> Path:
    for name in ("h200-eager", "h200-compile", "h200-compile-cuda-graph"):
        shutil.copytree(SAMPLES / name, traces / "samples" / name)
    return traces


def _write_gallery(folder: Path) -> None:
    uses = [
        OperatorUse(name=name, reads=reads, writes=writes, read_bytes=8, written_bytes=4, is_view=False, line=2)
        for name, reads, writes in (("aten::mul", ["x0", "x1"], ["t1"]), ("aten::sigmoid", ["t1"], ["out"]))
    ]
    kernel = GeneratedKernel(
        name="triton_poi_fused_mul_sigmoid_0", operators=["mul", "sigmoid"], lines=[2], code="tl.sigmoid(tmp2)"
    )
    result = ExpressionResult(
        name="sigmoid_chain",
        title="a sigmoid",
        source="def sigmoid_chain(x, y):\n    return torch.sigmoid(x * y)\n",
        operators=uses,
        temporary_count=1,
        temporary_bytes=4,
        eager_bytes=24,
        fused_bytes=12,
        eager=SideResult(time_ns=2000.0, spread_ns=1.0, error_ratio=1e-8),
        compiled=SideResult(time_ns=1000.0, spread_ns=1.0, error_ratio=1e-8),
        kernels=[kernel],
        generated_code=["def call(args): ..."],
    )
    recording = create_recording(folder, GallerySettings(expressions=("sigmoid_chain",)))
    write_json(recording.folder / FACTS_FILE, facts_to_json(Facts(state="finished")))
    write_json(recording.folder / RESULTS_FILE, results_to_json(GalleryResults(expressions=[result])))


def test_the_bundled_pair_reconciles_on_the_page(bundled: Path, open_page: OpenPage) -> None:
    app = open_page("fusion", a="sample:h200-eager", b="sample:h200-compile")
    page = html_of(app)
    assert "1,728 kernels became 436." in page
    assert "residual + RMSNorm" in page
    assert "28 layers" in page
    assert "change of the step" in page
    titles = [[note["text"] for note in one["layout"].get("annotations", ())] for one in figures_of(app)]
    maps = [one for one in titles if "compiled kernel" in one]
    assert maps == [["source line", "aten operator", "eager kernel", "compiled kernel"]] * 2  # a layer, and outside


def test_two_eager_sides_have_no_code_to_ask_for(pair: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("fusion", a="sample:eager", b="sample:graph"))
    assert "Neither side is compiled" in page
    assert "Generated code" not in page


def test_a_side_without_steps_makes_both_whole_traces(pair: Path, open_page: OpenPage) -> None:
    write_trace(pair / "samples" / "eager", 100.0, without=("user_annotation",))
    page = html_of(open_page("fusion", a="sample:eager", b="sample:graph"))
    assert "A and B are shown over their whole traces" in page
    assert "6 kernels became 6" in page
    assert "first step of each" not in page


def test_a_cpu_pair_has_no_gpu_no_launches_and_no_limit(traces: Path, open_page: OpenPage) -> None:
    for name in ("cpu-tiny-eager", "cpu-tiny-compile"):
        shutil.copytree(SAMPLES / name, traces / "samples" / name)
    app = open_page("fusion", a="sample:cpu-tiny-eager", b="sample:cpu-tiny-compile")
    page = html_of(app)
    assert "1,115 operators became 224." in page
    assert all(words in page for words in ("CPU busy", "operators became which"))
    assert "GPU" not in page.split("Ledger")[0].split("1,115 operators became 224.")[1]
    assert "On the CPU nothing is launched." in page
    assert "the dashed line" not in page


def test_generated_code_that_was_not_recorded_says_how_to_record_it(bundled: Path, open_page: OpenPage) -> None:
    (bundled / "samples" / "h200-compile" / CODE_FILE).unlink(missing_ok=True)
    page = html_of(open_page("fusion", a="sample:h200-eager", b="sample:h200-compile"))
    assert "explorer run --mode compile --out" in page
    assert "by name" in page


def _write_code(folder: Path) -> None:
    """Code of the generated kernels of the bundled compiled step, as a recording would hold it."""
    step = step_kernels(read_trace(folder / "trace.json.gz"))
    assert step is not None
    generated = {kernel.name: kernel for kernel in step.kernels if kernel.words is not None}
    texts = [
        KernelText(
            name=name,
            traced_name=name,
            graph_index=0,
            code=f"{name} = async_compile.triton('{name}', '''\nimport triton  # {name}\n''', device_str='cuda')",
        )
        for name in generated
    ]
    calls = [
        KernelCall(name=name, graph_index=0, uses=[OperatorSource(operator="aten::silu", line_index=0)])
        for name in generated
    ]
    lines = [SourceLine(file="explorer/engine/model.py", line=140, function="forward", text="silu(gate) * up")]
    code = GeneratedCode(kernels=texts, calls=calls, lines=lines, graphs=["def call(args): ..."])
    (folder / CODE_FILE).write_bytes(gzip.compress(json.dumps(code_to_json(code)).encode()))


def test_generated_code_stands_beside_its_eager_kernels_and_lines(bundled: Path, open_page: OpenPage) -> None:
    _write_code(bundled / "samples" / "h200-compile")
    app = open_page("fusion", a="sample:h200-eager", b="sample:h200-compile")
    groups = app.selectbox(key="fusion_code_group")
    app.selectbox(key="fusion_code_group").set_value(next(one for one in groups.options if "SwiGLU" in one)).run()
    assert not app.exception
    source, generated = [one.value for one in app.code]
    assert "# model.py:140: silu" in source
    assert generated.startswith("import triton  # triton_poi_fused")
    assert "2 kernels where the compiled side has 1" in html_of(app)


@needs_shared
def test_a_slower_fusion_is_shown_as_slower_with_what_is_not_recorded(traces: Path, open_page: OpenPage) -> None:
    case = SHARED / "cases" / "32-fusion-before-after"
    ids = [add_upload(name, (case / name).read_bytes()) for name in ("eager.json", "compiled.json")]
    app = open_page("fusion", a=ids[0], b=ids[1])
    page = html_of(app)
    assert "7 kernels became 4." in page
    assert "leaves out 3 kernels that ran while something compiled" in page
    assert "Slower than before: residual + LayerNorm." in page
    assert "Moved bytes of some groups are not recorded" in page
    assert "Record with record_shapes=True" in page
    assert "explorer run --mode compile --out" in page


@pytest.mark.slow
@needs_shared
def test_a_compiled_upload_without_its_eager_twin_is_said_to_be_other_work(traces: Path, open_page: OpenPage) -> None:
    names = ("mi300_qwen1.5-0.5b_eager.json.gz", "mi300_torch_compile_triton.json.gz")
    ids = [add_upload(name, (SHARED / "traces" / name).read_bytes()) for name in names]
    app = open_page("fusion", a=ids[1], b=ids[0])
    page = html_of(app)
    assert "these are not the same work" in page
    assert "B is the eager side here." in page
    assert "unmatched" in page
    assert figures_of(app)


def test_a_swapped_pair_is_put_in_order(bundled: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("fusion", a="sample:h200-compile", b="sample:h200-eager"))
    assert "1,728 kernels became 436." in page
    assert "B is the eager side here." in page


def test_a_choice_stays_when_the_page_is_opened_from_another(bundled: Path, open_page: OpenPage) -> None:
    app = open_page("fusion", a="sample:h200-eager", b="sample:h200-compile-cuda-graph")
    assert app.query_params["b"] == "sample:h200-compile-cuda-graph"
    app.switch_page("screens/compare.py").run()
    app.switch_page("screens/fusion.py").run()
    assert app.selectbox(key="picker_b").value == "sample:h200-compile-cuda-graph"


def test_the_default_choice_of_another_page_stays_as_well(bundled: Path, open_page: OpenPage) -> None:
    assert open_page("fusion").selectbox(key="picker_b").value == "sample:h200-compile-cuda-graph"


def test_one_recording_on_both_sides_is_said_to_be_one(bundled: Path, open_page: OpenPage) -> None:
    page = html_of(open_page("fusion", a="sample:h200-compile", b="sample:h200-compile"))
    assert "A and B are the same recording" in page
    assert "kernels became" not in page


def test_runs_of_different_devices_are_not_called_a_fusion(bundled: Path, open_page: OpenPage) -> None:
    tiny = RunSettings(model="tiny", device="cpu", mode="compile", dtype="float32")
    write_recording(bundled / "runs" / "tiny", tiny)
    page = html_of(open_page("fusion", a="sample:h200-eager", b="run:tiny"))
    assert "A and B did different work, so there is nothing to match" in page
    assert "Model qwen3-0.6b → tiny" in page
    assert "no map and no ledger follow" in page
    assert "kernels became" not in page


def test_other_phases_say_why_nothing_follows_and_what_to_pick(traces: Path, open_page: OpenPage) -> None:
    for name, settings in (("decode", RunSettings()), ("prefill", RunSettings(phase="prefill", mode="compile"))):
        write_recording(traces / "samples" / name, settings)
    page = html_of(open_page("fusion", a="sample:decode", b="sample:prefill"))
    assert "Phase decode → prefill. Two such steps have no kernels in common" in page
    assert "Pick as B a run with Phase decode, or as A one with Phase prefill." in page
    assert "differs too" not in page


def test_the_device_of_a_side_with_several_is_named(pair: Path, open_page: OpenPage) -> None:
    trace = pair / "samples" / "graph" / "trace.json.gz"
    document = json.loads(gzip.decompress(trace.read_bytes()))
    kernels = [event for event in document["traceEvents"] if event["cat"] == "kernel"]
    document["traceEvents"] += [{**event, "pid": 1, "args": {"device": 1, "stream": 7}} for event in kernels]
    trace.write_bytes(gzip.compress(json.dumps(document).encode()))
    page = html_of(open_page("fusion", a="sample:eager", b="sample:graph"))
    assert "B has 2 devices; its device 0 is shown." in page
    assert "A has" not in page


def test_an_upload_without_a_measured_limit_has_no_line_in_words_either(bundled: Path, open_page: OpenPage) -> None:
    ids = [
        add_upload(f"{name}.json.gz", (SAMPLES / name / "trace.json.gz").read_bytes())
        for name in ("h200-eager", "h200-compile")
    ]
    page = html_of(open_page("fusion", a=ids[0], b=ids[1]))
    assert "open before, full after" in page
    assert "the dashed line" not in page


def test_another_pair_offers_the_bundled_one(bundled: Path, open_page: OpenPage) -> None:
    app = open_page("fusion", a="sample:h200-eager", b="sample:h200-compile-cuda-graph")
    app.button(key="fusion_bundled").click().run()
    assert not app.exception
    assert app.query_params["b"] == "sample:h200-compile"


def test_a_gallery_shows_source_and_generated_code(pair: Path, open_page: OpenPage) -> None:
    _write_gallery(pair / "samples" / "gallery")
    app = open_page("fusion", a="sample:eager", b="sample:graph")
    app.segmented_control(key="fusion_view").set_value("gallery").run()
    assert not app.exception
    assert "2 operators became 1 kernel: 2.00 µs → 1.00 µs" in html_of(app)
    codes = [one.value for one in app.code]
    assert any("torch.sigmoid(x * y)" in code for code in codes)
    assert any("tl.sigmoid(tmp2)" in code for code in codes)
    assert len(figures_of(app)) == 2
    app.selectbox(key="fusion_kernel_sigmoid_chain").set_value("whole output").run()
    assert "def call(args): ..." in [one.value for one in app.code]


def test_the_bundled_gallery_opens_without_a_gpu(traces: Path, open_page: OpenPage) -> None:
    shutil.copytree(SAMPLES / "h200-gallery", traces / "samples" / "h200-gallery")
    app = open_page("fusion", gallery="sample:h200-gallery")
    app.segmented_control(key="fusion_view").set_value("gallery").run()
    assert not app.exception
    assert "3 operators became 1 kernel: 260 µs → 127 µs, ×2.04 where the traffic predicts ×2.00." in html_of(app)
    for name in EXPRESSION_TITLES:
        app.selectbox(key="fusion_expression").set_value(name).run()
        assert not app.exception, name


def test_without_a_gallery_the_page_says_how_to_record_one(pair: Path, open_page: OpenPage) -> None:
    app = open_page("fusion", a="sample:eager", b="sample:graph")
    app.segmented_control(key="fusion_view").set_value("gallery").run()
    assert not app.exception
    assert "explorer gallery --out" in html_of(app)


def test_a_gallery_can_be_recorded_from_the_page_but_no_function_named(
    pair: Path, open_page: OpenPage, quick_engine: None
) -> None:
    app = open_page("fusion", a="sample:eager", b="sample:graph")
    app.segmented_control(key="fusion_view").set_value("gallery").run()
    app.number_input(key="gallery_rows").set_value(32)
    app.button(key="gallery_start").click().run()
    assert not app.exception
    settings = Recording(pair / "runs" / app.query_params["recording"]).experiment_settings()
    assert isinstance(settings, GallerySettings)
    assert (settings.row_count, settings.own_function) == (32, None)
    assert not app.text_input
