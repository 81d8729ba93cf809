"""How is a worker process started, followed, queued and cancelled? Never imports the engine or Streamlit."""

from explorer.launch.launcher import Launcher
from explorer.launch.process import default_device
from explorer.launch.status import ENDED, JobState, JobStatus, StageProgress, recorded_status

__all__ = ["ENDED", "JobState", "JobStatus", "Launcher", "StageProgress", "default_device", "recorded_status"]
