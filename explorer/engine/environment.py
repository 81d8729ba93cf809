"""Which machine and which software are measuring?"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from pathlib import Path

import torch

from explorer.errors import SettingsError
from explorer.facts import Environment

_DRIVER_FILE = Path("/proc/driver/nvidia/version")
_PROCESSOR_FILE = Path("/proc/cpuinfo")
_MEMORY_FILE = Path("/proc/meminfo")


def read_environment(device: torch.device) -> Environment:
    """The environment of this process; raises SettingsError when the device is not there."""
    on_gpu = device.type == "cuda"
    if on_gpu and not torch.cuda.is_available():
        raise SettingsError(
            f"torch {torch.__version__} finds no CUDA device on this machine; choose device cpu, or install a CUDA "
            "build of torch and a driver."
        )
    return Environment(
        device_name=torch.cuda.get_device_name(device) if on_gpu else _processor_name(),
        python_version=platform.python_version(),
        torch_version=torch.__version__,
        cuda_version=torch.version.cuda if on_gpu else None,
        cudnn_version=_cudnn_version() if on_gpu else None,
        driver_version=_driver_version() if on_gpu else None,
        triton_version=_triton_version(),
        device_memory_bytes=torch.cuda.get_device_properties(device).total_memory if on_gpu else _memory("MemTotal"),
        processor_count=torch.cuda.get_device_properties(device).multi_processor_count if on_gpu else os.cpu_count(),
        host_thread_count=torch.get_num_threads(),
    )


def free_memory_bytes(device: torch.device) -> int | None:
    """Bytes that a new allocation may take on the device, or None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return _memory("MemAvailable")


def _memory(field: str) -> int | None:
    if not _MEMORY_FILE.exists():
        return None
    found = re.search(rf"^{field}:\s+(\d+) kB", _MEMORY_FILE.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _processor_name() -> str:
    if _PROCESSOR_FILE.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", _PROCESSOR_FILE.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def _cudnn_version() -> str | None:
    version: int | None = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    if version is None:
        return None
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def _driver_version() -> str | None:
    if not _DRIVER_FILE.exists():
        return None
    found = re.search(r"Kernel Module(?:\s+for \S+)?\s+([\d.]+)", _DRIVER_FILE.read_text(encoding="utf-8"))
    return found[1] if found else None


def _triton_version() -> str | None:
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return None
