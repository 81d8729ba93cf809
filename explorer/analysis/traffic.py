"""How often does each batch size run? From a preset, a simulation of arrivals, a file, or an engine's trace.

    counts[n] = decode steps with n running rows; counts[0] is always 0

The simulation is an engine with continuous batching: requests arrive at random (Poisson), wait while the batch is
full, then stay in the batch for as many steps as they make tokens. A step takes longer when the batch is larger,
where its time is known.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from explorer.capture_sizes import LARGEST_SIZE
from explorer.errors import SettingsError, TraceError

Counts = npt.NDArray[np.int64]
StepTime = Callable[[int], float]
"""Rows of a batch → nanoseconds of its step."""

_PRESET_STEPS = 20_000
_NS_PER_S = 1e9
_MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class Traffic:
    """Steps by batch size, with what they stand for in words."""

    name: str
    counts: Counts
    notes: tuple[str, ...] = ()

    @property
    def step_count(self) -> int:
        return int(self.counts.sum())

    @property
    def largest(self) -> int:
        """The largest batch that occurs."""
        return int(np.flatnonzero(self.counts)[-1])

    @property
    def mean(self) -> float:
        """Rows of a step on average."""
        return float(np.arange(len(self.counts)) @ self.counts / self.counts.sum())

    def up_to(self, size: int) -> Counts:
        """Counts of 0..size, with the batches above it left out and zeros where none were seen."""
        counts = np.zeros(size + 1, np.int64)
        shared = min(len(counts), len(self.counts))
        counts[:shared] = self.counts[:shared]
        return counts


def traffic_of_batches(name: str, batches: npt.ArrayLike, notes: tuple[str, ...] = ()) -> Traffic:
    """Traffic of batch sizes as they came; raises TraceError when there are none."""
    sizes = np.asarray(batches, np.int64)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        raise TraceError(f"{name} holds no batch with a row; give at least one batch size from 1.")
    return Traffic(name, np.bincount(sizes).astype(np.int64), notes)


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """What a simulation is given: requests a second, their output, how many may run at once, and for how long."""

    requests_per_s: float
    mean_output_tokens: float
    running_limit: int
    duration_s: float = 60.0
    seed: int = 0

    def refusals(self) -> list[str]:
        """Why this cannot be simulated, one sentence a reason."""
        problems = []
        for name, low, high in (
            ("requests_per_s", 1e-3, 1e5),
            ("mean_output_tokens", 1, 1e5),
            ("running_limit", 1, LARGEST_SIZE),
            ("duration_s", 1e-3, 3600),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                problems.append(f"{name} is {value:,}; choose from {low:,} to {high:,}.")
        return problems


def simulate(arrivals: Arrivals, step_time_ns: StepTime, name: str = "Poisson arrivals") -> Traffic:
    """Running batches of the decode steps that such arrivals lead to; output lengths are geometric.

    Steps without a running request are not counted: nothing runs. Raises SettingsError for impossible arrivals and
    for more than a million steps.
    """
    problems = arrivals.refusals()
    if problems:
        raise SettingsError(" ".join(problems))
    random = np.random.default_rng(arrivals.seed)
    due_ns = _arrival_times_ns(arrivals, random)
    lengths = random.geometric(1 / arrivals.mean_output_tokens, len(due_ns))
    batches, unserved_count = _run_batches(due_ns, lengths, arrivals, step_time_ns)
    notes = []
    if unserved_count:
        notes.append(
            f"{unserved_count:,} of {len(due_ns):,} requests still wait at the end: they arrive faster than "
            f"{arrivals.running_limit:,} rows make tokens."
        )
    if not batches:
        raise SettingsError("No request arrives in that time; raise requests_per_s or duration_s.")
    return traffic_of_batches(name, batches, tuple(notes))


def preset(name: str, largest: int, seed: int = 0) -> Traffic:
    """A preset by its name, with batches from 1 to `largest`; raises SettingsError for an unknown one.

    Steady: a normal distribution around four tenths of the largest. Bursty: mostly few rows, and one step in four
    near the largest. Ramp: from one row to the largest, evenly.
    """
    if name not in PRESETS:
        raise SettingsError(f"There is no traffic {name!r}; choose one of {', '.join(PRESETS)}.")
    random = np.random.default_rng(seed)
    if name == "steady":
        batches = random.normal(0.4 * largest, 0.13 * largest, _PRESET_STEPS)
    elif name == "bursty":
        is_burst = random.random(_PRESET_STEPS) < 0.25
        calm = random.exponential(0.06 * largest, _PRESET_STEPS)
        batches = np.where(is_burst, random.normal(0.85 * largest, 0.08 * largest, _PRESET_STEPS), calm)
    else:
        batches = np.linspace(1, largest, _PRESET_STEPS)
    return traffic_of_batches(PRESETS[name], np.clip(np.rint(batches), 1, largest).astype(np.int64))


PRESETS: Mapping[str, str] = MappingProxyType(
    {"steady": "steady traffic", "bursty": "bursty traffic", "ramp": "a ramp from one row to the largest"}
)


def traffic_from_csv(name: str, text: str) -> Traffic:
    """Traffic of a CSV file: one batch size a row, or a size and how often it ran; a first row of words is a heading.

    Raises TraceError with the line that cannot be read.
    """
    counts: dict[int, int] = {}
    rows = [
        (place, row) for place, row in enumerate(csv.reader(io.StringIO(text)), start=1) if any(map(str.strip, row))
    ]
    if rows and not _are_numbers(rows[0][1]):
        rows = rows[1:]
    for line, row in rows:
        size, count = _size_and_count(name, line, row)
        counts[size] = counts.get(size, 0) + count
    if not any(counts.values()):
        raise TraceError(f"{name} holds no batch; give one batch size a row, or a size and a count.")
    total = np.zeros(max(counts) + 1, np.int64)
    for size, count in counts.items():
        total[size] = count
    return Traffic(name, total)


def _arrival_times_ns(arrivals: Arrivals, random: np.random.Generator) -> npt.NDArray[np.float64]:
    expected = arrivals.requests_per_s * arrivals.duration_s
    if expected > _MOST_STEPS:
        raise SettingsError(f"{expected:,.0f} requests are too many; choose fewer a second or a shorter time.")
    count = int(random.poisson(expected))
    return np.sort(random.random(count)) * arrivals.duration_s * _NS_PER_S


def _run_batches(
    due_ns: npt.NDArray[np.float64], lengths: npt.NDArray[np.int64], arrivals: Arrivals, step_time_ns: StepTime
) -> tuple[list[int], int]:
    """(rows of every step, requests that never started). A request that starts at step i leaves after i + length."""
    batches: list[int] = []
    leaving: dict[int, int] = {}
    waiting: deque[int] = deque()
    running, arrived, step, now_ns = 0, 0, 0, 0.0
    end_ns = arrivals.duration_s * _NS_PER_S
    known_ns: dict[int, float] = {}
    while now_ns < end_ns:
        while arrived < len(due_ns) and due_ns[arrived] <= now_ns:
            waiting.append(int(lengths[arrived]))
            arrived += 1
        while waiting and running < arrivals.running_limit:
            last = step + waiting.popleft()
            leaving[last] = leaving.get(last, 0) + 1
            running += 1
        if not running:
            if arrived == len(due_ns):
                break
            now_ns = float(due_ns[arrived])
            continue
        if running not in known_ns:
            known_ns[running] = step_time_ns(running)
        batches.append(running)
        now_ns += known_ns[running]
        step += 1
        running -= leaving.pop(step, 0)
        if step == _MOST_STEPS:
            raise SettingsError(f"This makes more than {_MOST_STEPS:,} steps; choose a shorter time.")
    return batches, len(waiting) + len(due_ns) - arrived


def _are_numbers(row: list[str]) -> bool:
    return all(cell.strip().lstrip("-").replace(".", "", 1).isdigit() for cell in row if cell.strip())


def _size_and_count(name: str, line: int, row: list[str]) -> tuple[int, int]:
    cells = [cell.strip() for cell in row if cell.strip()]
    try:
        numbers = [int(cell) for cell in cells]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 2 or not 1 <= numbers[0] <= LARGEST_SIZE or (len(numbers) == 2 and numbers[1] < 0):
        raise TraceError(
            f"{name}, line {line}: {','.join(row)!r} is neither a batch size from 1 to {LARGEST_SIZE:,} nor a size and "
            "a count. Give whole numbers, one batch a row."
        )
    return numbers[0], numbers[1] if len(numbers) == 2 else 1
