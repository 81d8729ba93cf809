"""Where do a model's weights come from: a seed, or a Hugging Face folder on this machine?

A source hands out one tensor at a time by its Hugging Face name, already on the device and at the dtype, so that a
model never exists twice in memory. `build_model` assembles either source into a `Qwen3`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch

from explorer.engine.attention import AttentionPolicy
from explorer.engine.model import Qwen3
from explorer.errors import SettingsError
from explorer.model_shapes import ModelShape

_JOINED: Mapping[str, tuple[str, ...]] = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
}


class WeightSource(Protocol):
    """Weights by Hugging Face name, on one device at one dtype."""

    shape: ModelShape

    def tensor(self, name: str, size: torch.Size) -> torch.Tensor:
        """The named weight; raises SettingsError when it is missing or has another size."""


class RandomWeights:
    """Seeded normal weights at the true shape, the same for a seed on one kind of device.

    Standard deviations keep activations near one, as trained weights do: 1/√(inputs) for projections, 1 ± 0.1 for
    norms, 0.02 for the embedding, so that the residual is not dominated by the input token and the next token
    depends on the layers. Sizes, dtypes and memory traffic are those of the real model; only the words are noise.
    """

    def __init__(self, shape: ModelShape, seed: int, dtype: torch.dtype, device: torch.device) -> None:
        self.shape = shape
        self._seed = seed
        self._dtype = dtype
        self._device = device

    def tensor(self, name: str, size: torch.Size) -> torch.Tensor:
        # 32 bits, since the CPU's generator looks at no more of a seed.
        seed = zlib.crc32(f"{self._seed} {name}".encode())
        generator = torch.Generator(self._device).manual_seed(seed)
        mean, deviation = (1.0, 0.1) if len(size) == 1 else (0.0, size[1] ** -0.5)
        if "embed_tokens" in name or "lm_head" in name:
            deviation = 0.02
        weight = torch.empty(size, dtype=self._dtype, device=self._device)
        return weight.normal_(mean, deviation, generator=generator)


class FolderWeights:
    """Weights of a Hugging Face folder: `config.json` and safetensors, in one file or sharded with an index."""

    def __init__(self, folder: Path, dtype: torch.dtype, device: torch.device) -> None:
        self.shape = shape_of_folder(folder)
        self._folder = folder
        self._dtype = dtype
        self._device = device
        self._file_of_name = _files_by_weight(folder)

    def tensor(self, name: str, size: torch.Size) -> torch.Tensor:
        if name not in self._file_of_name:
            raise SettingsError(f"{self._folder} has no weight {name}; it is not a complete Qwen3 checkpoint.")
        with _opened(self._file_of_name[name]) as weights:
            weight: torch.Tensor = weights.get_tensor(name)
        if weight.shape != size:
            raise SettingsError(
                f"{name} in {self._folder} has shape {tuple(weight.shape)} and config.json asks for {tuple(size)}."
            )
        return weight.to(device=self._device, dtype=self._dtype)


def build_model(source: WeightSource, policy: AttentionPolicy | None = None, joined: bool = False) -> Qwen3:
    """A Qwen3 with the source's weights, without gradients and without a cache.

    `joined` puts q, k, v and gate, up one below the other, so that each group is one matrix product.
    """
    with torch.device("meta"):
        model = Qwen3(source.shape, policy, joined)
    sizes = {name: parameter.shape for name, parameter in model.named_parameters()}
    weights = {name: _assembled(source, name, size) for name, size in sizes.items()}
    model.load_state_dict(weights, strict=True, assign=True)
    return model.requires_grad_(False).eval()


def shape_of_folder(folder: Path) -> ModelShape:
    """The ModelShape in a folder's config.json; raises SettingsError when it is no plain Qwen3."""
    config = _read_json(folder / "config.json")
    for problem in _config_problems(config):
        raise SettingsError(f"{folder / 'config.json'} {problem}")
    try:
        return ModelShape(
            name=folder.name,
            layer_count=config["num_hidden_layers"],
            hidden_size=config["hidden_size"],
            query_head_count=config["num_attention_heads"],
            kv_head_count=config["num_key_value_heads"],
            head_size=config["head_dim"],
            mlp_size=config["intermediate_size"],
            vocab_size=config["vocab_size"],
            rope_theta=float(_rope(config).get("rope_theta", 1e6)),
            norm_epsilon=config["rms_norm_eps"],
            tied_embeddings=config["tie_word_embeddings"],
        )
    except KeyError as missing:
        raise SettingsError(f"{folder / 'config.json'} lacks {missing}; it is not a Qwen3 configuration.") from None


def _config_problems(config: Mapping[str, Any]) -> Iterator[str]:
    if config.get("model_type") != "qwen3":
        yield f"describes a {config.get('model_type')!r} model; this engine runs model_type 'qwen3' only."
    if config.get("attention_bias"):
        yield "asks for attention biases, which this engine does not have."
    if config.get("use_sliding_window"):
        yield "asks for sliding-window attention, which this engine does not have."
    rope_type = _rope(config).get("rope_type", _rope(config).get("type", "default"))
    if rope_type != "default":
        yield f"asks for {rope_type!r} rotary scaling; this engine has the default one only."


def _rope(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rotary settings, wherever this version of transformers wrote them."""
    nested = config.get("rope_parameters") or config.get("rope_scaling") or {}
    outer = {"rope_theta": config["rope_theta"]} if "rope_theta" in config else {}
    return {**outer, **nested}


def _files_by_weight(folder: Path) -> dict[str, Path]:
    index = folder / "model.safetensors.index.json"
    if index.exists():
        return {name: folder / file for name, file in _read_json(index)["weight_map"].items()}
    single = folder / "model.safetensors"
    if not single.exists():
        raise SettingsError(f"{folder} has neither model.safetensors nor model.safetensors.index.json.")
    with _opened(single) as weights:
        return dict.fromkeys(weights.keys(), single)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """An open safetensors file; raises SettingsError when it is missing, damaged or lacks what is read from it."""
    from safetensors import SafetensorError, safe_open  # only here: random weights do without the package

    try:
        with safe_open(str(path), framework="pt") as weights:
            yield weights
    except (OSError, SafetensorError) as problem:
        raise SettingsError(f"{path} cannot be read ({problem}); download the model again.") from None


def _assembled(source: WeightSource, name: str, size: torch.Size) -> torch.Tensor:
    for joined, parts in _JOINED.items():
        if f".{joined}." in name:
            sizes = _part_sizes(source.shape, parts, size)
            pieces = [source.tensor(_full_name(name.replace(joined, part)), sizes[part]) for part in parts]
            return torch.cat(pieces)
    return source.tensor(_full_name(name), size)


def _part_sizes(shape: ModelShape, parts: tuple[str, ...], size: torch.Size) -> dict[str, torch.Size]:
    rows = {
        "q_proj": shape.query_head_count * shape.head_size,
        "k_proj": shape.kv_head_count * shape.head_size,
        "v_proj": shape.kv_head_count * shape.head_size,
        "gate_proj": shape.mlp_size,
        "up_proj": shape.mlp_size,
    }
    return {part: torch.Size((rows[part], size[1])) for part in parts}


def _full_name(name: str) -> str:
    return name if name.startswith("lm_head.") else f"model.{name}"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path} is missing; choose a Hugging Face model folder.") from None
    except OSError as problem:
        raise SettingsError(f"{path}: {problem.strerror}. Choose a Hugging Face model folder.") from None
    except ValueError as problem:
        raise SettingsError(f"{path} is not valid JSON ({problem}).") from None
    if not isinstance(content, dict):
        raise SettingsError(f"{path} does not hold a JSON object.")
    return content
