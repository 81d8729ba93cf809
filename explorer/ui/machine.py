"""What does this machine have to run on? Found out without importing torch."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from explorer.launch import default_device
from explorer.settings import Device, RunSettings

_QUERY = ["nvidia-smi", "--query-gpu=name,memory.total,memory.free", "--format=csv,noheader,nounits"]
_MEBIBYTE = 2**20


@dataclass(frozen=True)
class Machine:
    """The device that runs use by default; memory is None where the system does not say."""

    device: Device
    name: str
    total_bytes: int | None
    free_bytes: int | None


@st.cache_data(ttl=10, show_spinner=False)
def this_machine() -> Machine:
    """The first GPU where there is one, else the processor; asked again every ten seconds."""
    if default_device() == "cpu":
        return Machine("cpu", "CPU", *_host_memory())
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, timeout=5, check=True).stdout
        name, total, free = answer.splitlines()[0].split(", ")
        return Machine("cuda", name, int(total) * _MEBIBYTE, int(free) * _MEBIBYTE)
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return Machine("cuda", "GPU", None, None)


def fitted(settings: RunSettings, machine: Machine) -> RunSettings:
    """The settings as this machine can try them: without a GPU on the CPU, and with the tiny model."""
    if machine.device == settings.device or machine.device == "cuda":
        return settings
    return replace(settings, device="cpu", model="tiny", weights_folder=None)


def missing_device(settings: RunSettings, machine: Machine) -> list[str]:
    """Why these settings cannot run on this machine, beside what `refusals` says of the settings themselves."""
    if settings.device == "cuda" and machine.device == "cpu":
        return ["This machine has no GPU that PyTorch could use; choose CPU under More settings, or run it elsewhere."]
    return []


def _host_memory() -> tuple[int | None, int | None]:
    path = Path("/proc/meminfo")
    if not path.exists():
        return None, None
    rows = dict(line.split(":", 1) for line in path.read_text(encoding="ascii").splitlines())
    return tuple(int(rows[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))  # type: ignore[return-value]
