"""The one tree of errors that a person may see, with the exit code of each on the command line.

An `ExplorerError`'s text is a whole sentence or two: what happened, where, and what to do.
Anything else that is raised is a bug of ours and keeps its traceback in the log.
"""


class ExplorerError(Exception):
    """Something that the person can understand and act on; one line on the command line, one box on a page."""

    exit_code = 1


class SettingsError(ExplorerError):
    """A combination of settings that cannot run, with the reason."""

    exit_code = 2


class RecordingError(ExplorerError):
    """A recording folder or zip that cannot be read or written."""

    exit_code = 3


class TraceError(ExplorerError):
    """A trace file that holds nothing that can be read."""

    exit_code = 4


class RunError(ExplorerError):
    """A worker process that ended without finishing its run."""

    exit_code = 5
