"""`explorer gallery` and `explorer run --function`: expressions eagerly and compiled, recorded side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.gallery_settings import EXPRESSION_TITLES, GallerySettings
from explorer.launch import default_device
from explorer.making import make_recording
from explorer.settings import CHOICES


def add_gallery(parser: argparse.ArgumentParser) -> None:
    """Gives the parser its arguments and its command."""
    defaults = GallerySettings()
    parser.set_defaults(command=_gallery)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the recording's folder, made new")
    parser.add_argument("--device", choices=CHOICES["device"], help="cuda where there is a GPU")
    parser.add_argument("--dtype", choices=CHOICES["dtype"], help="bfloat16 on a GPU, float32 on the CPU")
    parser.add_argument("--expressions", choices=tuple(EXPRESSION_TITLES), nargs="+", metavar="NAME", help="else all")
    parser.add_argument("--rows", type=int, help="rows of every tensor; 8192 on a GPU, 64 on the CPU")
    parser.add_argument("--hidden", type=int, help="columns of every tensor; 8192 on a GPU, 256 on the CPU")
    parser.add_argument("--repeats", type=int, default=defaults.repeat_count, help="timed calls of each side")
    parser.add_argument("--seed", type=int, default=defaults.seed)


def _gallery(chosen: argparse.Namespace) -> int:
    size = _sizes(chosen.device or default_device())
    settings = GallerySettings.from_json(
        {
            **size,
            "dtype": chosen.dtype or size["dtype"],
            "expressions": chosen.expressions or tuple(EXPRESSION_TITLES),
            "row_count": chosen.rows or size["row_count"],
            "hidden_size": chosen.hidden or size["hidden_size"],
            "repeat_count": chosen.repeats,
            "seed": chosen.seed,
        }
    )
    make_recording(settings, chosen.out)
    print(chosen.out)
    return 0


def run_function(function: str, *, device: str | None, out: Path) -> int:
    """Records a person's own expression, `package.module:name`, at the gallery's size for the device."""
    size = _sizes(device or default_device())
    settings = GallerySettings.from_json({**size, "own_function": function, "expressions": ()})
    make_recording(settings, out)
    print(out)
    return 0


def _sizes(device: str) -> dict[str, object]:
    """Large enough on a GPU for memory, not launching, to decide."""
    if device == "cuda":
        return {"device": device, "dtype": "bfloat16", "row_count": 8192, "hidden_size": 8192}
    defaults = GallerySettings()
    return {
        "device": device,
        "dtype": defaults.dtype,
        "row_count": defaults.row_count,
        "hidden_size": defaults.hidden_size,
    }
