"""Does the trust card count what is wrong, and say what it blocks?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from explorer.analysis.trust import trust_report
from explorer.trace import Trace
from tests.drawing import draw, drawn_document, drawn_ranks
from tests.reading import trace_of_events
from tests.shared import SHARED, needs_shared

Read = Callable[[Path], Trace]


def test_unlinked_work_blocks_what_needs_launches() -> None:
    report = trust_report(
        draw("""
        host     A.......
        stream 7 .aa.??.?
    """)
    )

    assert report.value("unlinked_count") == 2
    assert report.value("linked_ratio") == 1 / 3
    assert "late host" in " ".join(report.table("blocks")["blocks"])


def test_unlinked_work_blocks_the_steps_too() -> None:
    marked = trust_report(
        draw("""
        steps    00001111
        host     A...B...
        stream 7 .a.?.b??
    """)
    )

    blocks = marked.table("blocks").set_index("entry")["blocks"]
    assert "anything a step" in blocks["GPU work with a known launch"]


def test_launches_whose_work_is_missing_are_counted() -> None:
    assert (
        trust_report(
            draw("""
        host     A.B.C...
        stream 7 .aa.....
    """)
        ).value("lost_work_count")
        == 2
    )


def test_work_of_another_rank_under_the_same_number_is_not_that_of_a_launch() -> None:
    whole = "host A..B...\nstream 7 .a..b.."
    lost = "host A..B...\nstream 7 .a....."

    ranks = drawn_ranks(lost, whole)

    assert trust_report(ranks).value("lost_work_count") == 1


def test_launches_that_a_graph_captures_are_not_lost() -> None:
    """Those of any thread of the process, as long as the capture lasts; 5, 36 and 50 are outside."""
    calls = (
        ("cudaLaunchKernel", 0, 1, 1),
        ("cudaLaunchKernel", 5, 1, 2),
        ("cudaStreamBeginCapture", 10, 1, 1),
        ("cudaLaunchKernel", 20, 1, 1),
        ("cudaMemcpyAsync", 30, 1, 1),
        ("cudaLaunchKernel", 35, 1, 2),
        ("cudaLaunchKernel", 36, 2, 3),
        ("cudaStreamEndCapture", 40, 1, 1),
        ("cudaLaunchKernel", 50, 1, 2),
    )
    place = {"ph": "X", "cat": "cuda_runtime", "dur": 1}
    events = [
        {**place, "name": name, "ts": start, "pid": process, "tid": thread, "args": {"correlation": number}}
        for number, (name, start, process, thread) in enumerate(calls, start=1)
    ]
    kernel = {"device": 0, "stream": 7, "correlation": 1}
    events.append({**place, "cat": "kernel", "name": "k", "ts": 60, "pid": 0, "tid": 7, "args": kernel})

    assert trust_report(trace_of_events(events)).value("lost_work_count") == 3


def test_prefetch_has_no_work_that_could_be_lost() -> None:
    drawn = drawn_document("""
        host     A.......
        stream 7 .aa.....
    """)["traceEvents"]
    prefetch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemPrefetchAsync", "pid": 1, "tid": 1, "ts": 6, "dur": 2}

    trace = trace_of_events([*drawn, {**prefetch, "args": {"correlation": 2222}}])

    assert trust_report(trace).value("lost_work_count") == 0


def test_overlaps_on_one_stream_are_counted_and_those_of_two_streams_are_not() -> None:
    one = draw("""
        host     AB......
        stream 7 ..aaaa..
        stream 9 ...bbbb.
    """)

    assert trust_report(one).value("overlap_count") == 0


def test_clean_trace_blocks_nothing_but_what_coarse_times_do() -> None:
    report = trust_report(
        draw("""
        steps    00000000
        host     A..B....
        stream 7 .aa.bb..
    """)
    )

    assert report.table("blocks")["entry"].tolist() == ["time resolution"]
    assert report.value("resolution_ns") == 1000


@needs_shared
def test_known_flaws_of_real_traces_are_found(read: Read) -> None:
    traces = SHARED / "traces"
    capture = trust_report(read(traces / "mi300_sglang_graph_capture_bs32.json.gz"))
    unlinked = trust_report(read(traces / "h100_qwen1.5-0.5b_eager.json.gz"))
    graph = trust_report(read(traces / "mi300_sglang_qwen3-8b_decode_hipgraph.json.gz"))

    assert capture.value("lost_work_count") == 0  # 544 launches were captured, not run
    assert unlinked.value("unlinked_count") == 509
    assert graph.value("work_per_graph_launch") == 544
