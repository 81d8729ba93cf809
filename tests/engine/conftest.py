"""A small Qwen3 of transformers' own making, saved as a Hugging Face folder, and engine runs in their own process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.engine.compile_caches import CACHE_VARIABLES
from explorer.recording import Progress, Recording, create_recording
from explorer.settings import RunSettings

ROOT = Path(__file__).parents[2]
EngineRun = tuple[Recording, int, list[Progress | None]]
"""The recording, the exit code, and every line of standard output as progress (None: not a progress line)."""


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(autouse=True)
def no_cache_folder_left_set() -> Iterator[None]:
    """Compiling in this process makes PyTorch name its cache folder in the environment: workers would inherit it."""
    yield
    for variable in CACHE_VARIABLES:
        os.environ.pop(variable, None)


@pytest.fixture(scope="session")
def save_hugging_face_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Any, Path]]:
    """Makes transformers' Qwen3 with random weights; returns it with the folder it saved."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    def save(*, tied: bool = True, shard_size: str = "1GB", **fields: Any) -> tuple[Any, Path]:
        config = Qwen3Config(
            **{
                "vocab_size": 300,
                "hidden_size": 64,
                "intermediate_size": 96,
                "num_hidden_layers": 3,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "head_dim": 32,
                "tie_word_embeddings": tied,
                "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
                "initializer_range": 0.2,
                "eos_token_id": None,
                "dtype": "float32",
                **fields,
            }
        )
        torch.manual_seed(3)
        model = Qwen3ForCausalLM(config)
        model.train(False)
        folder = tmp_path_factory.mktemp("qwen3")
        model.save_pretrained(folder, max_shard_size=shard_size)
        return model, folder

    return save


@pytest.fixture(scope="session")
def run_engine(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., EngineRun]:
    """Runs the engine as the launcher does, without a GPU in sight; `occupied` names a file that is in the way."""

    def run(*, occupied: str | None = None, **fields: Any) -> EngineRun:
        folder = tmp_path_factory.mktemp("run")
        recording = create_recording(folder, RunSettings(**fields))
        if occupied is not None:
            (folder / occupied).mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "explorer.engine", str(folder)],
            cwd=ROOT,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
            timeout=400,
            check=False,
            capture_output=True,
            text=True,
        )
        return recording, done.returncode, [Progress.from_line(line) for line in done.stdout.splitlines()]

    return run
