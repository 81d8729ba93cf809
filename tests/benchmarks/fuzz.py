"""Does a mutated real trace always give an answer or one clear error, never a hang, never a traceback?

    python tests/benchmarks/fuzz.py TRACE... --count 10000 --seed 1

Each mutation is read by the fast reader and, since the two must agree, by the tolerant one; what comes out is analysed.
Prints how many were whole, repaired and refused, and the slowest; exits 1 at the first that is none of these.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from explorer.analysis.machine_output import report_object
from explorer.errors import ExplorerError
from explorer.ingest.compile_fast import compile_now
from explorer.ingest.fast import RefusedError, read_documents_fast
from explorer.ingest.link import Linked, link
from explorer.ingest.open import open_source
from explorer.ingest.reading import trace_of_documents
from explorer.ingest.tolerant import read_documents

LONGEST_S = 20.0
_TABLES = ("operators", "calls", "work", "annotations", "frames")
_PIECES = (
    b"NaN", b"-inf", b"null", b"\\", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\x00", b"\x1b", b"\xff", b"\\u12",
    b"e99",
    b"-1", b"99999999999999999999999", b"0.0000001", b'"ph":"B"', b'"ts":', b"\n", b"\xc3\x28",
)  # fmt: skip


def mutated(text: bytes, chance: random.Random) -> bytes:
    """The text with one to four things done to it."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        text = chance.choice(_MUTATIONS)(text, chance)
    return text


def _flip(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]


def _insert(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + chance.choice(_PIECES) + text[place:]


def _cut_out(text: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(text))
    return text[:place] + text[place + chance.choice((1, 1, 2, 7, 100, 5000)) :]


def _truncate(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(1, len(text))]


def _repeat(text: bytes, chance: random.Random) -> bytes:
    place, length = chance.randrange(len(text)), chance.choice((1, 10, 400))
    return text[: place + length] + text[place:]


def _replace_number(text: bytes, chance: random.Random) -> bytes:
    digits = [place for place in (chance.randrange(len(text)) for _ in range(50)) if text[place : place + 1].isdigit()]
    if not digits:
        return text
    return text[: digits[0]] + chance.choice(_PIECES) + text[digits[0] + 1 :]


def _change_digits(text: bytes, chance: random.Random) -> bytes:
    """Keeps the text well formed: times, ids and sizes change."""
    changed = bytearray(text)
    for place in (chance.randrange(len(text)) for _ in range(40)):
        if changed[place : place + 1].isdigit():
            changed[place] = chance.choice(b"123456789")
    return bytes(changed)


def _swap_events(text: bytes, chance: random.Random) -> bytes:
    """Keeps the text well formed: the order of events changes, or one comes twice."""
    events = text.split(b"\n  {")
    if len(events) < 4:
        return text
    one, other = (chance.randrange(1, len(events) - 1) for _ in range(2))
    events[one], events[other] = events[other], events[other if chance.random() < 0.3 else one]
    return b"\n  {".join(events)


_MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _insert, _cut_out, _truncate, _repeat, _replace_number, _change_digits, _change_digits, _swap_events,
    _swap_events,
)  # fmt: skip


def small_text(path: Path, longest_bytes: int) -> bytes:
    """A trace's text; of a long one the beginning and the end, cut between events so that it is well formed."""
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if len(text) <= longest_bytes:
        return text
    separator = b"},\n  {"
    begin = text.rfind(separator, 0, longest_bytes // 2)
    end = text.find(separator, len(text) - longest_bytes // 2)
    return text[:begin] + text[end:] if 0 < begin < end else text[:longest_bytes]


def outcome_of(path: Path) -> str:
    """whole, repaired or refused; raises AssertionError where the readers disagree."""
    try:
        fast: Linked | None = None
        try:
            documents = read_documents_fast(open_source(path))
            if any(document.event_count for document in documents):
                fast = link(documents)
        except RefusedError:
            fast = None
        trace = trace_of_documents(path, read_documents(open_source(path)), "")
    except ExplorerError:
        return "refused"
    report_object(trace)
    if fast is None:
        return "repaired"
    for name in _TABLES:
        ours, theirs = getattr(fast, name), getattr(trace, name)
        assert ours.to_pylist() == theirs.to_pylist(), f"the readers disagree about {name}"
    return "whole"


def check_one(text: bytes, path: Path) -> tuple[str, float]:
    """(outcome, seconds) of one mutated text."""
    path.write_bytes(text)
    began = time.perf_counter()
    outcome = outcome_of(path)
    return outcome, time.perf_counter() - began


def main() -> int:
    """Fuzzes for as long as asked; the exit code."""
    parser = argparse.ArgumentParser(description="Mutates traces and reads them.")
    parser.add_argument("traces", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest-bytes", type=int, default=40_000)
    asked = parser.parse_args()
    compile_now()
    chance = random.Random(asked.seed)
    texts = [small_text(path, asked.longest_bytes) for path in asked.traces]
    outcomes, slowest_s = Counter[str](), 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.json"
        for number in range(asked.count):
            text = mutated(chance.choice(texts), chance)
            try:
                outcome, seconds = check_one(text, path)
            except Exception:  # whatever escapes is what is looked for
                kept = Path.cwd() / f"fuzz-failure-{asked.seed}-{number}.json"
                kept.write_bytes(text)
                traceback.print_exc()
                print(f"Mutation {number} of seed {asked.seed} escaped; kept as {kept.name}.")
                return 1
            outcomes[outcome] += 1
            slowest_s = max(slowest_s, seconds)
            if seconds > LONGEST_S:
                print(f"Mutation {number} of seed {asked.seed} took {seconds:.1f} s.")
                return 1
    print(f"{asked.count:,} mutations: {dict(outcomes)}; the slowest took {slowest_s:.2f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
