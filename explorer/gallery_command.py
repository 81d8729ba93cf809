"""`explorer gallery` and `explorer run --function`: expressions eagerly and compiled, recorded side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.errors import SettingsError
from explorer.gallery_settings import EXPRESSION_TITLES, GallerySettings
from explorer.launch import default_device
from explorer.making import make_recording
from explorer.settings import CHOICES, RunSettings


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
            "row_count": size["row_count"] if chosen.rows is None else chosen.rows,
            "hidden_size": size["hidden_size"] if chosen.hidden is None else chosen.hidden,
            "repeat_count": chosen.repeats,
            "seed": chosen.seed,
        }
    )
    make_recording(settings, chosen.out)
    print(chosen.out)
    return 0


def run_function(chosen: argparse.Namespace) -> int:
    """Records a person's own expression, `package.module:name`, at the gallery's size for the device.

    Raises SettingsError for options of `explorer run` that an expression does not take.
    """
    known = {"batch": "batch_size", "context": "context_tokens", "weights": "weights_folder"}
    defaults = {**RunSettings().to_json(), "cache": None}
    refused = [
        f"--{name.replace('_', '-')}"
        for name, value in vars(chosen).items()
        if name not in ("command", "device", "out", "function") and value != defaults[known.get(name, name)]
    ]
    if refused:
        raise SettingsError(f"--function runs an expression at the gallery's size: leave out {', '.join(refused)}.")
    size = _sizes(chosen.device or default_device())
    settings = GallerySettings.from_json({**size, "own_function": chosen.function, "expressions": ()})
    make_recording(settings, chosen.out)
    print(chosen.out)
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
