"""How do recordings and uploads become a folder that TensorBoard's profiler plugin opens?

FOLDER/<run>/<worker>.<n>.pt.trace.json.gz        tensorboard --logdir FOLDER

Writing takes about 15 s a million events, all of it Python's: a server has it done in a process of its own, which is
this file, `python -m explorer.ingest.tensorboard ZIP NAME PATH [NAME PATH ...]`.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from explorer.errors import ExplorerError, TraceError
from explorer.ingest.chrome_events import document_texts
from explorer.ingest.opening import open_trace
from explorer.trace import Trace

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_FOLDER = "tensorboard"
_HOW = """Unpack this folder, then

    pip install tensorboard torch-tb-profiler
    tensorboard --logdir tensorboard

and open the tab PYTORCH_PROFILER. The traces were written again from what was read: repaired where the file was
damaged, with the event names of 2021 that the plugin knows. What it still gets wrong on today's traces stands on the
page "What is in this trace".
"""


def write_tensorboard_folder(runs: Mapping[str, Trace], folder: Path) -> list[Path]:
    """Writes each trace as a run of its own, named by its key; returns the files. Raises TraceError when it cannot."""
    written = []
    for number, (name, trace) in enumerate(runs.items()):
        run = _UNFIT.sub("_", name).strip("_") or f"run_{number}"
        path = folder / run / f"{run}.{1_000_000_000_000 + number}.pt.trace.json.gz"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(path, "wt", compresslevel=3, encoding="utf-8") as file:
                for text in document_texts(trace):
                    file.write(text)
        except OSError as problem:
            raise TraceError(f"Cannot write {path}: {problem.strerror}. Choose a folder that you may write.") from None
        written.append(path)
    return written


def pack_tensorboard_folder(paths: Mapping[str, Path], target: Path) -> None:
    """Has a process write the folder of these trace files, by the names of their runs, as the zip file `target`.

    Raises TraceError when one cannot be read or the zip cannot be written.
    """
    named = [word for name, path in paths.items() for word in (name, str(path))]
    done = subprocess.run(
        [sys.executable, "-m", "explorer.ingest.tensorboard", str(target), *named],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise TraceError(f"The TensorBoard folder could not be written: {last[0]}")


def main(arguments: Sequence[str]) -> int:
    """Writes the zip; the exit code, with the reason on standard error."""
    target, names, paths = Path(arguments[0]), arguments[1::2], arguments[2::2]
    try:
        with tempfile.TemporaryDirectory(prefix="kernel-explorer-tensorboard-") as folder:
            runs = {name: open_trace(Path(path)) for name, path in zip(names, paths, strict=True)}
            written = write_tensorboard_folder(runs, Path(folder))
            with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:  # its files are compressed already
                archive.writestr(f"{_FOLDER}/HOW_TO_OPEN.txt", _HOW)
                for path in written:
                    archive.write(path, f"{_FOLDER}/{path.relative_to(folder)}")
    except ExplorerError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
