"""Where is the plotly.js that the installed plotly package brings, and which version of the package is it?"""

from __future__ import annotations

from pathlib import Path

import plotly


def plotly_script() -> tuple[Path, str]:
    """The file with plotly.js, whole and minified, and the package's version for its address."""
    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js", plotly.__version__
