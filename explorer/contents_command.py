"""`explorer contents, opinion, tensorboard`: what a trace holds and lacks, what another tool says, and a way there.

All three take a trace file or a recording's folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.errors import TraceError

if TYPE_CHECKING:
    from explorer.report import Report


def add_contents(parser: argparse.ArgumentParser) -> None:
    """Gives `explorer contents` its arguments and its command."""
    parser.set_defaults(command=_contents)
    parser.add_argument("path", type=Path, metavar="PATH", help="a trace file or a recording's folder")
    parser.add_argument("--json", action="store_true", help="print every table whole, as one object")


def add_opinion(parser: argparse.ArgumentParser) -> None:
    """Gives `explorer opinion` its arguments and its command."""
    parser.set_defaults(command=_opinion)
    parser.add_argument("path", type=Path, metavar="PATH", help="a trace file or a recording's folder")
    parser.add_argument("--longest", type=float, default=900.0, metavar="SECONDS", help="stop it after this long")
    parser.add_argument("--json", action="store_true", help="print every table whole, as one object")


def add_tensorboard(parser: argparse.ArgumentParser) -> None:
    """Gives `explorer tensorboard` its arguments and its command."""
    parser.set_defaults(command=_tensorboard)
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="a run of its own each")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for `tensorboard --logdir DIR`")


def _contents(chosen: argparse.Namespace) -> int:
    from explorer.analysis.contents import contents_report
    from explorer.analysis.launches import launch_report
    from explorer.terminal import open_path

    trace = open_path(chosen.path).trace
    _tell({"contents": contents_report(trace), "launches": launch_report(trace)}, as_json=chosen.json)
    return 0


def _opinion(chosen: argparse.Namespace) -> int:
    from explorer.analysis.second_opinion import beside
    from explorer.ingest.tb_profiler import second_opinion
    from explorer.terminal import open_path

    opened = open_path(chosen.path)
    print("asking torch-tb-profiler; it takes about 40 s a million events", file=sys.stderr)
    opinion = second_opinion(opened.trace_path, chosen.longest)
    if not opinion.tables:
        raise TraceError(opinion.notes[0])
    if chosen.json:
        _tell({"beside": beside(opened.trace, opinion), "opinion": opinion}, as_json=True)
    else:
        print("\n".join(_beside_lines(beside(opened.trace, opinion))), end="\n\n")
        _tell({"opinion": opinion}, as_json=False)
    return 0


def _beside_lines(compared: Report) -> Iterator[str]:
    """Both tools' figures with the whole reason under each: the reason is what the reader came for."""
    import pandas as pd

    from explorer.units import text

    yield f"{compared.question}  ({compared.window})"
    for row in compared.table("figures").to_dict("records"):
        theirs, ours = (None if pd.isna(row[whose]) else row[whose] for whose in ("theirs", "ours"))
        yield f"  {row['figure']}: {text(theirs, row['unit'])} there, {text(ours, row['unit'])} here"
        yield f"      {row['why']}"


def _tensorboard(chosen: argparse.Namespace) -> int:
    from explorer.ingest.tensorboard import write_tensorboard_folder
    from explorer.terminal import open_path

    names = [path.resolve().name.removesuffix(".gz").removesuffix(".json") for path in chosen.paths]
    distinct = [name if names.count(name) == 1 else f"{name}_{place}" for place, name in enumerate(names)]
    runs = {name: open_path(path).trace for name, path in zip(distinct, chosen.paths, strict=True)}
    for written in write_tensorboard_folder(runs, chosen.out):
        print(written)
    return 0


def _tell(reports: dict[str, Report], *, as_json: bool) -> None:
    from explorer.terminal import report_lines

    if as_json:
        json.dump({name: report_object(report) for name, report in reports.items()}, sys.stdout, indent=1)
        print()
    else:
        print("\n\n".join("\n".join(report_lines(report)) for report in reports.values()))


def report_object(report: Report) -> dict[str, Any]:
    """`{"window", "metrics", "tables": {key: [row, ...]}, "notes"}` of one report; unknown is None."""
    from explorer.report import metrics_to_json

    frames = {table.key: table.frame.astype(object) for table in report.tables}
    return {
        "window": report.window,
        "metrics": metrics_to_json(report),
        "tables": {key: frame.where(frame.notna(), None).to_dict("records") for key, frame in frames.items()},
        "notes": list(report.notes),
    }
