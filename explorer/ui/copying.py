"""How does text get into the clipboard? One small button that runs in the browser only."""

from __future__ import annotations

import streamlit as st

_SCRIPT = """
export default function (component) {
  const button = component.parentElement.querySelector("button");
  const word = button.querySelector("span");
  const { label, text } = component.data;
  word.textContent = label;
  button.onclick = async () => {
    const wanted = text ?? window.location.href;
    try {
      await navigator.clipboard.writeText(wanted);
    } catch {
      const field = document.createElement("textarea");
      field.value = wanted;
      document.body.appendChild(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    word.textContent = "Copied";
    setTimeout(() => { word.textContent = label; }, 3000);
  };
}
"""
_BUTTON = """
<button><svg viewBox="0 0 24 24" width="16" height="16" fill="none" stroke="currentColor" stroke-width="2"
stroke-linecap="round"><path d="M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.5 1.5"/>
<path d="M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.5-1.5"/></svg><span></span></button>
"""
_STYLE = """
button { all: unset; cursor: pointer; font: inherit; font-size: 0.8125rem; color: var(--st-text-color);
         display: inline-flex; align-items: center; gap: 0.45rem; height: 2.2rem; white-space: nowrap; }
button:hover { color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); border-radius: 4px; }
"""
_component = st.components.v2.component("copy_text", html=_BUTTON, css=_STYLE, js=_SCRIPT)


def copy_text(label: str, text: str, *, key: str) -> None:
    """A button that copies `text`."""
    _component(key=key, data={"label": label, "text": text}, height="content")


def copy_link(label: str) -> None:
    """A button that copies the address of what is on the screen."""
    _component(key="copy_link", data={"label": label, "text": None}, height="content")
