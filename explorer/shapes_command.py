"""`explorer shapes`: what a sequence of shapes makes torch.compile do, and where that goes.

`explorer shapes --out DIR` makes the experiment on this machine's device, `explorer shapes RECORDING` tells about one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from explorer.errors import SettingsError
from explorer.launch import default_device
from explorer.making import Answers, make_or_tell
from explorer.model_shapes import MODEL_SHAPES
from explorer.settings import CHOICES
from explorer.shapes_settings import (
    DYNAMICS,
    EXPRESSIONS,
    LARGEST_CALL_COUNT,
    MODEL_SUBJECT,
    SEQUENCES,
    Axis,
    ShapesSettings,
    sizes_of_text,
)

_HEAD_BYTES = 256
_GZIP = b"\x1f\x8b"


def add_shapes(parser: argparse.ArgumentParser) -> None:
    """Gives the parser its arguments and its command."""
    defaults = ShapesSettings()
    parser.set_defaults(command=_shapes)
    parser.add_argument("recording", type=Path, nargs="?", metavar="RECORDING", help="an experiment made before")
    parser.add_argument("--out", type=Path, metavar="DIR", help="measure into this folder, made new")
    parser.add_argument("--subject", choices=(MODEL_SUBJECT, *EXPRESSIONS), default=defaults.subject)
    parser.add_argument("--model", default=defaults.model, help=f"one of {', '.join(MODEL_SHAPES)}")
    parser.add_argument("--device", choices=CHOICES["device"], help="cuda where there is a GPU")
    parser.add_argument("--dtype", choices=CHOICES["dtype"], default=defaults.dtype)
    parser.add_argument("--sequence", choices=tuple(SEQUENCES), default="six_sizes", help="sizes by name")
    own = parser.add_mutually_exclusive_group()
    own.add_argument("--sizes", type=int, nargs="+", metavar="N", help="your own sizes instead, in order")
    own.add_argument("--sizes-from", type=Path, metavar="FILE", help="a list (CSV, JSON) or an engine's trace instead")
    parser.add_argument("--axis", choices=("batch", "length"), help="what your own sizes are; batch unless said")
    parser.add_argument("--dynamic", choices=DYNAMICS, nargs="+", help="ways of compiling; all unless said")
    parser.add_argument("--scope", choices=CHOICES["compile_scope"], nargs="+", default=list(defaults.scopes))
    parser.add_argument("--graphs-only", action="store_true", help="build graphs, generate no code: counts and reasons")
    parser.add_argument("--no-warm", action="store_true", help="leave out the second round with warm caches")
    parser.add_argument("--context", type=int, default=defaults.context_tokens, help="tokens a row has before the step")
    parser.add_argument("--steady-calls", type=int, default=defaults.steady_call_count)
    parser.add_argument("--recompile-limit", type=int, default=defaults.recompile_limit)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--json", action="store_true", help="print the whole answer as one object")


def _shapes(chosen: argparse.Namespace) -> int:
    return make_or_tell(chosen, shapes_settings, _answers)


def _answers() -> Answers:
    from explorer.shapes_answer import json_shapes, shapes_lines

    return shapes_lines, json_shapes


def shapes_settings(chosen: argparse.Namespace) -> ShapesSettings:
    """The settings that the arguments mean; raises SettingsError for what cannot run."""
    axis, sizes = SEQUENCES[chosen.sequence]
    if chosen.sizes:
        axis, sizes = chosen.axis or "batch", tuple(chosen.sizes)
    elif chosen.sizes_from:
        axis = chosen.axis or "batch"
        sizes = _sizes_of_file(chosen.sizes_from, axis)
    dynamics = chosen.dynamic or [one for one in DYNAMICS if axis == "batch" or one != "buckets"]
    return ShapesSettings.from_json(
        {
            "device": chosen.device or default_device(),
            "dtype": chosen.dtype,
            "subject": chosen.subject,
            "model": chosen.model,
            "axis": axis,
            "sizes": sizes,
            "dynamics": dynamics,
            "scopes": chosen.scope,
            "backend": "graphs_only" if chosen.graphs_only else "inductor",
            "tries_warm": not chosen.no_warm,
            "context_tokens": chosen.context,
            "steady_call_count": chosen.steady_calls,
            "recompile_limit": chosen.recompile_limit,
            "seed": chosen.seed,
        }
    )


def _sizes_of_file(path: Path, axis: Axis) -> tuple[int, ...]:
    """A list as it stands; of a trace (gzip, or a JSON object) the sizes that its engine's steps went through."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).lstrip()
        if head[:2] != _GZIP and head[:1] != b"{":
            return sizes_of_text(path.name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} cannot be read ({problem}). Give a CSV or JSON list, or a trace.") from None
    from explorer.analysis.engine_steps import sequence_from_trace
    from explorer.ingest import read_trace

    found = sequence_from_trace(read_trace(path), axis, LARGEST_CALL_COUNT)
    print(f"{path.name}: {found.note}", file=sys.stderr)
    return found.sizes
