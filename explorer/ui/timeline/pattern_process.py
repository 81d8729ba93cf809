"""Which of these names does a regular expression match? A program of its own, so that it can be stopped.

Standard library only and started by path: standard input is `{"pattern": ..., "names": [...], "limit_s": ...}`,
standard output `{"matched": [positions]}` or `{"problem": "why it is no regular expression"}`. After `limit_s` of work
SIGPROF ends it, in the midst of a match too.
"""

import json
import re
import signal
import sys


def matched(pattern: str, names: list[str]) -> dict[str, object]:
    """The answer to write; an invalid expression is an answer too."""
    try:
        expression = re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as problem:
        return {"problem": str(problem)}
    return {"matched": [position for position, name in enumerate(names) if expression.search(name)]}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    signal.setitimer(signal.ITIMER_PROF, asked["limit_s"])
    json.dump(matched(asked["pattern"], asked["names"]), sys.stdout)
