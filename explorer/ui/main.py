"""The page list and the frame around every page: A and B on the left, both in the address."""

from __future__ import annotations

import streamlit as st

from explorer.ui import frame
from explorer.ui.pieces import current_theme, write_style
from explorer.ui.selection import adopt_address, write_address
from explorer.ui.sources import all_sources


def main() -> None:
    """Draws the frame, then the chosen page."""
    st.set_page_config(page_title="Kernel explorer", page_icon=frame.ICON, layout="wide")
    page = st.navigation(
        [
            st.Page("screens/compare.py", title="Compare", url_path="", default=True),
            st.Page("screens/run.py", title="Run", url_path="run"),
            st.Page("screens/timeline.py", title="Timeline", url_path="timeline"),
            st.Page("screens/gaps.py", title="Gaps", url_path="gaps"),
            st.Page("screens/fusion.py", title="Fusion", url_path="fusion"),
            st.Page("screens/buckets.py", title="Buckets", url_path="buckets"),
            st.Page("screens/attention.py", title="Attention", url_path="attention"),
            st.Page("screens/compilation.py", title="Compilation", url_path="compilation"),
            st.Page("screens/library.py", title="Library", url_path="library"),
            st.Page("screens/contents.py", title="What is in this trace", url_path="contents"),
            # The first page stands at the root; whoever types its name means it too.
            st.Page("screens/compare.py", title="Compare", url_path="compare", visibility="hidden"),
        ]
    )
    write_style(current_theme())
    sources = all_sources()
    adopt_address(sources)
    frame.draw_sidebar(sources)
    page.run()
    write_address()


main()
