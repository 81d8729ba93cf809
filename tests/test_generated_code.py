"""Is generated code read back as written, absent where it was not recorded, and refused where it is damaged?"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from explorer.errors import RecordingError
from explorer.generated_code import (
    GeneratedCode,
    KernelCall,
    KernelText,
    OperatorSource,
    SourceLine,
    code_from_json,
    code_to_json,
    kernel_language,
    kernel_source,
)
from explorer.recording import CODE_FILE, Recording, create_recording
from explorer.settings import RunSettings

CODE = GeneratedCode(
    kernels=[
        KernelText(name="triton_poi_fused_silu_0", traced_name="triton_poi_fused_silu_0", graph_index=0, code="tl.load")
    ],
    calls=[
        KernelCall(
            name="triton_poi_fused_silu_0",
            graph_index=0,
            uses=[OperatorSource(operator="aten::silu", line_index=0), OperatorSource(operator="aten::mul")],
        )
    ],
    lines=[SourceLine(file="explorer/engine/model.py", line=140, function="forward", text="functional.silu(gate)")],
    graphs=["def call(args): ..."],
)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return create_recording(tmp_path / "run", RunSettings())


def test_what_was_written_is_read_back(recording: Recording) -> None:
    (recording.folder / CODE_FILE).write_bytes(gzip.compress(json.dumps(code_to_json(CODE)).encode()))
    assert recording.generated_code() == CODE
    assert CODE.lines[0].place == "model.py:140"


def test_older_recordings_have_none(recording: Recording) -> None:
    assert recording.generated_code() is None


def test_a_kernels_source_is_what_stands_between_the_quotes_with_one_comment() -> None:
    triton = "# Source Nodes: [x]\n# Graph:\nk = async_compile.triton('k', '''\nimport triton\n''', device_str='cuda')"
    assert (kernel_language(triton), kernel_source(triton)) == ("python", "# Source Nodes: [x]\nimport triton")
    cpp = "# Graph fragment:\nk = async_compile.cpp_pybinding(['float*'], r'''\nvoid kernel();\n''')"
    assert (kernel_language(cpp), kernel_source(cpp)) == ("cpp", "// Graph fragment:\nvoid kernel();")
    assert kernel_source("extern_kernels.mm(a, b)") == "extern_kernels.mm(a, b)"


@pytest.mark.parametrize(
    "content",
    [b"", b"\x1f\x8b\x08", gzip.compress(b"{"), gzip.compress(b"{}")],
    ids=["empty", "a head", "cut", "nothing in it"],
)
def test_damaged_code_says_so(recording: Recording, content: bytes) -> None:
    (recording.folder / CODE_FILE).write_bytes(content)
    with pytest.raises(RecordingError, match=r"damaged|malformed"):
        recording.generated_code()


def test_a_file_that_unpacks_without_end_is_refused(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.recording._CODE_LIMIT_BYTES", 1000)
    (recording.folder / CODE_FILE).write_bytes(gzip.compress(b" " * 2000))
    with pytest.raises(RecordingError, match="more than 1,000 bytes"):
        recording.generated_code()


def test_a_list_where_an_object_belongs_is_malformed() -> None:
    with pytest.raises(RecordingError, match="malformed"):
        code_from_json({"kernels": [1], "calls": [], "lines": [], "graphs": []})
