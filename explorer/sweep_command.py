"""`explorer sweep`: what a step and its graphs cost at many batch sizes.

`explorer sweep --out DIR` measures on this machine's device, `explorer sweep RECORDING` tells what was measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from explorer.capture_sizes import RULES
from explorer.errors import SettingsError
from explorer.graph_modes import GRAPH_MODES
from explorer.launch import default_device
from explorer.making import Answers, make_or_tell
from explorer.model_shapes import MODEL_SHAPES
from explorer.settings import CHOICES, default_cache_tokens
from explorer.sweep_settings import LARGEST_SWEPT_SIZE, SweepSettings


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Gives the parser its arguments and its command."""
    defaults = SweepSettings()
    parser.set_defaults(command=_sweep)
    parser.add_argument("recording", type=Path, nargs="?", metavar="RECORDING", help="a sweep made before")
    parser.add_argument("--out", type=Path, metavar="DIR", help="sweep into this folder, made new")
    parser.add_argument("--model", default=defaults.model, help=f"one of {', '.join(MODEL_SHAPES)}")
    parser.add_argument("--weights", metavar="DIR", help="a Hugging Face folder instead of random weights")
    parser.add_argument("--device", choices=CHOICES["device"], help="cuda where there is a GPU")
    parser.add_argument("--dtype", choices=CHOICES["dtype"], default=defaults.dtype)
    parser.add_argument("--attention", choices=CHOICES["attention"], default=defaults.attention)
    parser.add_argument("--rule", choices=sorted(RULES), default="vllm", help="whose list of sizes")
    parser.add_argument("--max", type=int, default=8, metavar="M", help="the rule's largest size")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="your own list instead of a rule's")
    parser.add_argument("--context", type=int, default=defaults.context_tokens, help="tokens a row has before the step")
    parser.add_argument("--cache", type=int, help="tokens a row has room for; follows from --context")
    parser.add_argument("--read-lengths", type=int, nargs="+", default=[], metavar="N", help="tokens that graphs read")
    parser.add_argument("--graph-mode", choices=GRAPH_MODES, default=defaults.graph_mode, help="vLLM's modes")
    parser.add_argument("--compile-up-to", type=int, default=0, metavar="N", help="compile sizes up to N by themselves")
    parser.add_argument("--joined-projections", action="store_true", help="q, k, v in one product; gate, up in one")
    parser.add_argument("--eager-steps", type=int, default=defaults.eager_steps)
    parser.add_argument("--replayed-steps", type=int, default=defaults.replayed_steps)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--json", action="store_true", help="print the whole answer as one object")


def _sweep(chosen: argparse.Namespace) -> int:
    return make_or_tell(chosen, _settings, _answers)


def _answers() -> Answers:
    from explorer.terminal import json_sweep, sweep_lines

    return sweep_lines, json_sweep


def _settings(chosen: argparse.Namespace) -> SweepSettings:
    return SweepSettings.from_json(
        {
            "weights_folder": chosen.weights,
            "device": chosen.device or default_device(),
            "sizes": sorted(set(chosen.sizes)) if chosen.sizes else _rule_sizes(chosen.rule, chosen.max),
            "context_tokens": chosen.context,
            "cache_tokens": default_cache_tokens(chosen.context) if chosen.cache is None else chosen.cache,
            "read_lengths": sorted(set(chosen.read_lengths)),
            **{
                name: getattr(chosen, name)
                for name in (
                    *("model", "dtype", "graph_mode", "compile_up_to", "attention", "joined_projections"),
                    *("eager_steps", "replayed_steps", "seed"),
                )
            },
        }
    )


def _rule_sizes(rule: str, largest_size: int) -> tuple[int, ...]:
    if not 1 <= largest_size <= LARGEST_SWEPT_SIZE:
        raise SettingsError(f"--max is {largest_size}; choose from 1 to {LARGEST_SWEPT_SIZE:,}.")
    return RULES[rule](largest_size)
