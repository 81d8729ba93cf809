"""What does this trace file say? Reading, linking, kernel families; profiler JSON is read nowhere else."""

from explorer.ingest.opening import OnProgress, open_trace
from explorer.ingest.reading import read_trace
from explorer.ingest.tb_profiler import second_opinion
from explorer.ingest.tensorboard import write_tensorboard_folder

__all__ = ["OnProgress", "open_trace", "read_trace", "second_opinion", "write_tensorboard_folder"]
