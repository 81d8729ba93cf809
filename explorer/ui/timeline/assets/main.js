// The component's entry: one explorer a mounted element, kept while Streamlit runs the script again.

import { Explorer } from "./explorer.js";

const explorers = new WeakMap();

/** Called by boot.js on every change of data or theme; returns what cleans up when the element goes. */
export function mount(component, root) {
  const { parentElement, data, setTriggerValue } = component;
  performance.mark("timeline-mount");
  const shown = JSON.stringify([data.runs, data.is_compact]);
  const sources = JSON.stringify(data.runs.map((run) => run.source));
  let explorer = explorers.get(parentElement);
  if (explorer && explorer.shown === shown) {
    explorer.restyle(data.themes);
  } else {
    // What the address says of step and view was said of the runs before; it holds for the same runs under new ids.
    const fromAddress = explorer === undefined || explorer.sources === sources;
    explorer?.dispose();
    explorer = new Explorer(parentElement, data, root, () => setTriggerValue("ended", true));
    Object.assign(explorer, { shown, sources });
    explorers.set(parentElement, explorer);
    explorer.open({ fromAddress });
  }
  return () => {
    explorers.get(parentElement)?.dispose();
    explorers.delete(parentElement);
  };
}
