// The component's entry: one explorer a mounted element, kept while Streamlit runs the script again.

import { Explorer } from "./explorer.js";

const explorers = new WeakMap();

/** Called by boot.js on every change of data or theme; returns what cleans up when the element goes. */
export function mount(component, root) {
  const { parentElement, data, setTriggerValue } = component;
  performance.mark("timeline-mount");
  const runs = JSON.stringify(data.runs);
  let explorer = explorers.get(parentElement);
  if (explorer && explorer.runsText === runs) {
    explorer.restyle(data.themes);
  } else {
    // Another pair of runs: what the address says of step and view was said of the old one.
    const isFirst = explorer === undefined;
    explorer?.dispose();
    explorer = new Explorer(parentElement, data, root, () => setTriggerValue("ended", true));
    explorer.runsText = runs;
    explorers.set(parentElement, explorer);
    explorer.open({ fromAddress: isFirst });
  }
  return () => {
    explorers.get(parentElement)?.dispose();
    explorers.delete(parentElement);
  };
}
