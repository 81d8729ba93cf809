"""Does a recording survive the journey through a zip, and is everything else refused?"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from explorer.errors import RecordingError
from explorer.recording import FACTS_FILE, SETTINGS_FILE, TRACE_FILE
from explorer.settings import RunSettings
from explorer.ui import archive
from explorer.ui.archive import pack, unpack
from tests.ui.drawn import write_recording

SETTINGS = RunSettings(mode="compile")


def zip_of(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return packed.getvalue()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_packed_recording_opens_with_the_same_files(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "mine", SETTINGS)
    opened = unpack(pack(folder), tmp_path / "opened")
    assert opened.settings() == SETTINGS
    assert files_of(opened.folder) == files_of(folder)


@pytest.mark.parametrize(
    "name", ["../settings.json", "/settings.json", "a/b/settings.json", "run/../../settings.json", "run/evil.py"]
)
def test_a_name_that_is_no_file_of_a_recording_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_recording(tmp_path / "mine", SETTINGS)
    members = {f"run/{path}": content for path, content in files_of(folder).items()} | {name: b"{}"}
    with pytest.raises(RecordingError):
        unpack(zip_of(members), tmp_path / "opened")
    assert not (tmp_path / "opened").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"mine"}


def test_two_recordings_in_one_zip_are_refused(tmp_path: Path) -> None:
    content = files_of(write_recording(tmp_path / "mine", SETTINGS))
    members = {f"one/{SETTINGS_FILE}": content[SETTINGS_FILE], f"one/{FACTS_FILE}": content[FACTS_FILE]}
    with pytest.raises(RecordingError, match="several folders"):
        unpack(zip_of(members | {f"two/{TRACE_FILE}": content[TRACE_FILE]}), tmp_path / "opened")


def test_a_zip_without_a_trace_names_what_is_missing(tmp_path: Path) -> None:
    content = files_of(write_recording(tmp_path / "mine", SETTINGS))
    del content[TRACE_FILE]
    with pytest.raises(RecordingError, match=r"trace\.json\.gz missing"):
        unpack(zip_of(content), tmp_path / "opened")


def test_a_file_that_unpacks_beyond_its_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = files_of(write_recording(tmp_path / "mine", SETTINGS))
    monkeypatch.setattr(archive, "LIMIT_BYTES", 1000)
    with pytest.raises(RecordingError, match="larger than 1,000 B"):
        unpack(zip_of(content | {TRACE_FILE: bytes(2_000_000)}), tmp_path / "opened")


def test_a_damaged_zip_is_a_recording_error(tmp_path: Path) -> None:
    packed = bytearray(pack(write_recording(tmp_path / "mine", SETTINGS)))
    packed[60:90] = bytes(30)
    with pytest.raises(RecordingError):
        unpack(bytes(packed), tmp_path / "opened")


def test_settings_that_nobody_knows_are_refused(tmp_path: Path) -> None:
    content = files_of(write_recording(tmp_path / "mine", SETTINGS))
    with pytest.raises(RecordingError, match="Unknown setting colour"):
        unpack(zip_of(content | {SETTINGS_FILE: b'{"colour": 1}'}), tmp_path / "opened")
