"""Are random weights reproducible and sane, and does a wrong folder say what is wrong?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from explorer.engine.weights import FolderWeights, RandomWeights, build_model, shape_of_folder
from explorer.errors import SettingsError
from explorer.model_shapes import TINY

SaveModel = Callable[..., tuple[Any, Path]]
CPU = torch.device("cpu")
SIZE = torch.Size((64, 128))


def random_weight(seed: int, name: str) -> torch.Tensor:
    return RandomWeights(TINY, seed, torch.float32, CPU).tensor(name, SIZE)


def load(folder: Path) -> None:
    build_model(FolderWeights(folder, torch.float32, CPU))


def test_random_weights_follow_seed_and_name() -> None:
    assert torch.equal(random_weight(1, "a.weight"), random_weight(1, "a.weight"))
    assert not torch.equal(random_weight(1, "a.weight"), random_weight(2, "a.weight"))
    assert not torch.equal(random_weight(1, "a.weight"), random_weight(1, "b.weight"))


def test_random_weights_keep_logits_sane_and_let_the_layers_decide() -> None:
    model = build_model(RandomWeights(TINY, 0, torch.float32, CPU))
    model.allocate_cache(8, 32)
    tokens = torch.randint(TINY.vocab_size, (8, 32), generator=torch.Generator().manual_seed(0))
    logits = model.next_logits(tokens, torch.zeros(8, dtype=torch.int64))
    assert 0.05 < logits.std() < 5
    assert (logits.argmax(-1) != tokens[:, -1]).any()  # a tied embedding would repeat its input if it dominated


def test_shape_is_read_from_the_folder(save_hugging_face_model: SaveModel) -> None:
    model, folder = save_hugging_face_model(tied=False)
    shape = shape_of_folder(folder)
    assert (shape.name, shape.layer_count, shape.head_size, shape.rope_theta) == (folder.name, 3, 32, 10000.0)
    assert shape.parameter_count == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("model_type", "llama", "'llama' model"),
        ("attention_bias", True, "attention biases"),
        ("use_sliding_window", True, "sliding-window"),
        ("rope_scaling", {"type": "yarn"}, "'yarn' rotary scaling"),
    ],
)
def test_foreign_architecture_is_refused(tmp_path: Path, field: str, value: object, said: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen3", field: value}))
    with pytest.raises(SettingsError, match=said):
        shape_of_folder(tmp_path)


def test_incomplete_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen3"}))
    with pytest.raises(SettingsError, match="lacks 'num_hidden_layers'"):
        shape_of_folder(tmp_path)


def test_folder_without_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.json is missing"):
        load(tmp_path)


def test_a_file_where_a_folder_belongs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").touch()
    with pytest.raises(SettingsError, match=r"Not a directory\. Choose a Hugging Face model folder"):
        FolderWeights(tmp_path / "model", torch.float32, torch.device("cpu"))


def test_folder_without_weights_is_refused(save_hugging_face_model: SaveModel) -> None:
    _, folder = save_hugging_face_model()
    (folder / "model.safetensors").unlink()
    with pytest.raises(SettingsError, match=r"neither model\.safetensors nor"):
        load(folder)


def test_damaged_weights_are_refused(save_hugging_face_model: SaveModel) -> None:
    _, folder = save_hugging_face_model()
    (folder / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(SettingsError, match="cannot be read"):
        load(folder)


def test_missing_shard_is_refused(save_hugging_face_model: SaveModel) -> None:
    _, folder = save_hugging_face_model(shard_size="100KB")
    next(iter(sorted(folder.glob("model-*.safetensors")))).unlink()
    with pytest.raises(SettingsError, match="cannot be read"):
        load(folder)


def test_missing_weight_is_refused(save_hugging_face_model: SaveModel) -> None:
    _, folder = save_hugging_face_model()
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(SettingsError, match=r"has no weight model\.norm\.weight"):
        load(folder)


def test_weight_of_another_size_is_refused(save_hugging_face_model: SaveModel) -> None:
    _, folder = save_hugging_face_model()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 128}))
    with pytest.raises(SettingsError, match=r"config\.json asks for"):
        load(folder)
