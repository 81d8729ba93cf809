"""What does this trace file say? Reading, linking, kernel families; profiler JSON is read nowhere else.

Further doors: `tb_profiler.second_opinion` and `tensorboard.write_tensorboard_folder`.
"""

from explorer.ingest.opening import OnProgress, open_trace
from explorer.ingest.reading import read_trace

__all__ = ["OnProgress", "open_trace", "read_trace"]
