"""The same answers without a browser: `explorer run, report, compare, contents, buckets, ...`.

Answers go to standard output, progress and errors to standard error. Analyses are imported inside their commands:
`explorer run` works on a machine that has torch and numpy only.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from explorer.attention_command import add_attention
from explorer.capture_sizes import LARGEST_SIZE, RULES, Padding, pad, sglang_sizes, vllm_sizes
from explorer.contents_command import add_contents, add_opinion, add_tensorboard
from explorer.errors import ExplorerError, SettingsError
from explorer.gallery_command import add_gallery, run_function
from explorer.launch import default_device
from explorer.making import make_recording
from explorer.model_shapes import MODEL_SHAPES
from explorer.settings import CHOICES, RunSettings, default_cache_tokens
from explorer.shapes_command import add_shapes
from explorer.sweep_command import add_sweep


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; a person's mistake is one line on standard error."""
    chosen = _parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
    except ExplorerError as problem:
        print(f"explorer: {problem}", file=sys.stderr)
        return problem.exit_code
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130
    return code


class _Parser(argparse.ArgumentParser):
    """Says a mistake in one line; `--help` has the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="explorer", description="Where does a model's step spend its time?")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help="run a model and record it"))
    _add_report(commands.add_parser("report", help="what a recording or a trace file shows"))
    _add_compare(commands.add_parser("compare", help="two recordings or traces side by side"))
    add_contents(commands.add_parser("contents", help="what a trace holds, and what it cannot answer"))
    add_opinion(commands.add_parser("opinion", help="what torch-tb-profiler says of a trace, beside our figures"))
    add_tensorboard(commands.add_parser("tensorboard", help="a folder that TensorBoard's profiler plugin opens"))
    _add_buckets(commands.add_parser("buckets", help="an engine's CUDA-graph batch sizes, and padding to them"))
    add_attention(commands.add_parser("attention", help="which attention backend runs, and what each costs"))
    add_sweep(commands.add_parser("sweep", help="measure a model and its CUDA graphs at many batch sizes"))
    add_gallery(commands.add_parser("gallery", help="expressions eagerly and compiled: what fusion saves"))
    add_shapes(commands.add_parser("shapes", help="what a sequence of shapes makes torch.compile do"))
    presets = commands.add_parser("presets", help="the models that can be run")
    presets.set_defaults(command=_presets)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    defaults = RunSettings()
    parser.set_defaults(command=_run)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the recording's folder, made new")
    parser.add_argument("--model", default=defaults.model, help=f"one of {', '.join(MODEL_SHAPES)}")
    parser.add_argument("--weights", metavar="DIR", help="a Hugging Face folder instead of random weights")
    parser.add_argument("--device", choices=CHOICES["device"], help="cuda where there is a GPU")
    for name in ("dtype", "phase", "mode", "attention", "compile-scope"):
        field = name.replace("-", "_")
        parser.add_argument(f"--{name}", choices=CHOICES[field], default=getattr(defaults, field))
    parser.add_argument("--batch", type=int, default=defaults.batch_size, help="rows (sequences) of a step")
    parser.add_argument("--context", type=int, default=defaults.context_tokens, help="tokens a row has before the step")
    parser.add_argument("--cache", type=int, help="tokens a row has room for; follows from --context")
    parser.add_argument("--joined-projections", action="store_true", help="q, k, v in one product; gate, up in one")
    parser.add_argument("--autotune", action="store_true", help="time kernel variants while compiling")
    parser.add_argument("--warmup-steps", type=int, default=defaults.warmup_steps)
    parser.add_argument("--measured-steps", type=int, default=defaults.measured_steps)
    parser.add_argument("--profiled-steps", type=int, default=defaults.profiled_steps)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--function", metavar="MODULE:NAME", help="your own expression of tensors instead of a model")


def _run(chosen: argparse.Namespace) -> int:
    if chosen.function is not None:
        return run_function(chosen)
    settings = RunSettings.from_json(
        {
            "weights_folder": chosen.weights,
            "device": chosen.device or default_device(),
            "batch_size": chosen.batch,
            "context_tokens": chosen.context,
            "cache_tokens": default_cache_tokens(chosen.context) if chosen.cache is None else chosen.cache,
            **{
                name: getattr(chosen, name)
                for name in (
                    *("model", "dtype", "phase", "mode", "attention", "compile_scope", "joined_projections"),
                    *("autotune", "warmup_steps", "measured_steps", "profiled_steps", "seed"),
                )
            },
        }
    )
    make_recording(settings, chosen.out)
    print(chosen.out)
    return 0


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_report)
    parser.add_argument("path", type=Path, metavar="RECORDING_OR_TRACE")
    parser.add_argument("--window", choices=("steps", "trace"), help="steps where there are any")
    parser.add_argument("--json", action="store_true")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_compare)
    parser.add_argument("a", type=Path, metavar="A")
    parser.add_argument("b", type=Path, metavar="B")
    parser.add_argument("--json", action="store_true")


def _report(chosen: argparse.Namespace) -> int:
    from explorer.terminal import json_report, text_report

    if chosen.json:
        _print_json(json_report(chosen.path, chosen.window))
    else:
        print(text_report(chosen.path, chosen.window))
    return 0


def _compare(chosen: argparse.Namespace) -> int:
    from explorer.terminal import json_compare, text_compare

    if chosen.json:
        _print_json(json_compare(chosen.a, chosen.b))
    else:
        print(text_compare(chosen.a, chosen.b))
    return 0


def _add_buckets(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=_buckets)
    parser.add_argument("--rule", choices=sorted(RULES), action="append", help="may be given more than once")
    parser.add_argument("--max", type=int, metavar="M", help="the largest size")
    parser.add_argument("--max-num-seqs", type=int, metavar="N", help="vLLM: the running limit")
    parser.add_argument("--batched-tokens", type=int, metavar="N", help="vLLM: the batched-token limit")
    parser.add_argument("--request-pool", type=int, metavar="N", help="SGLang: the request pool's size")
    parser.add_argument("--batch", type=int, nargs="+", default=[], metavar="N", help="batches to pad")
    parser.add_argument("--json", action="store_true")


_RULE_OF_OPTION = {"max_num_seqs": "vllm", "batched_tokens": "vllm", "request_pool": "sglang"}


def _buckets(chosen: argparse.Namespace) -> int:
    rules = list(dict.fromkeys(chosen.rule or ["vllm"]))
    for name, rule in _RULE_OF_OPTION.items():
        if getattr(chosen, name) is not None and rule not in rules:
            option = name.replace("_", "-")
            raise SettingsError(f"--{option} changes the {rule} list only; add --rule {rule} or leave it out.")
    lists = [(rule, _sizes(rule, chosen)) for rule in rules]
    padded = [(rule, pad(batch, sizes)) for rule, sizes in lists for batch in chosen.batch]
    if chosen.json:
        _print_json(
            {
                "lists": [{"rule": rule, "sizes": list(sizes)} for rule, sizes in lists],
                "batches": [_padding_object(rule, padding) for rule, padding in padded],
            }
        )
        return 0
    for rule, sizes in lists:
        print(f"{rule}: {len(sizes)} sizes: {' '.join(map(str, sizes))}")
    for rule, padding in padded:
        print(f"{rule}: {_padding_sentence(padding)}")
    return 0


def _sizes(rule: str, chosen: argparse.Namespace) -> tuple[int, ...]:
    for name in ("max", "max_num_seqs", "batched_tokens", "request_pool"):
        value = getattr(chosen, name)
        if value is not None and not 1 <= value <= LARGEST_SIZE:
            raise SettingsError(f"--{name.replace('_', '-')} is {value}; choose from 1 to {LARGEST_SIZE:,}.")
    if rule == "vllm":
        return vllm_sizes(chosen.max, max_num_seqs=chosen.max_num_seqs, batched_token_limit=chosen.batched_tokens)
    if chosen.max is None:
        raise SettingsError(f"The {rule} list needs its largest size: give --max.")
    if rule == "sglang":
        return sglang_sizes(chosen.max, request_pool_size=chosen.request_pool)
    return RULES[rule](chosen.max)


def _padding_object(rule: str, padding: Padding) -> dict[str, Any]:
    waste_ratio = padding.waste_ratio
    return {
        "rule": rule,
        "batch": padding.batch,
        "bucket": padding.bucket,
        "padding": None if padding.bucket is None else padding.rows,
        "waste_ratio": None if waste_ratio is None else round(waste_ratio, 4),
    }


def _padding_sentence(padding: Padding) -> str:
    from explorer.units import text

    if padding.bucket is None:
        return f"{padding.batch} is above the largest size: it runs without a graph"
    return f"{padding.batch} → {padding.bucket}, {padding.rows} padded rows, {text(padding.waste_ratio, 'ratio')}"


def _presets(chosen: argparse.Namespace) -> int:
    for shape in MODEL_SHAPES.values():
        sizes = {name: value for name, value in dataclasses.asdict(shape).items() if name != "name"}
        billions = shape.parameter_count / 1e9
        print(f"{shape.name:<12} {billions:.3f} billion parameters, {json.dumps(sizes)}")
    return 0


def _print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    sys.exit(main())
