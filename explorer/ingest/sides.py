"""What does linking need to know of calls and of work?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.ingest.columns import Longs
from explorer.spans import Rows


@dataclass(frozen=True)
class Side:
    """What linking needs to know of calls or of work; `owner` is a process of calls, a device scope of work."""

    start_ns: Longs
    end_ns: Longs
    correlation: Longs
    document: npt.NDArray[np.int32]
    owner: npt.NDArray[np.int32]
    thread: npt.NDArray[np.int32]
    file_row: Rows  # in the order of the file
