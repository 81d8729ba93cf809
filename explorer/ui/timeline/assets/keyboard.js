// Which key does what? The same keys as in other trace viewers; the list is also the help.

/** `[keys, what they do, action]`; the action gets the explorer and the event. */
export const KEYS = [
  [["w"], "zoom in where the pointer is", (explorer) => explorer.zoomByKey(0.6)],
  [["s"], "zoom out", (explorer) => explorer.zoomByKey(1 / 0.6)],
  [["a"], "earlier", (explorer) => explorer.panByKey(-0.2)],
  [["d"], "later", (explorer) => explorer.panByKey(0.2)],
  [
    ["ArrowLeft", "ArrowRight"],
    "event before or after the chosen one; without one, earlier and later",
    (explorer, event) => explorer.chooseNeighbour(event.key === "ArrowLeft" ? -1 : 1),
  ],
  [
    ["ArrowUp", "ArrowDown"],
    "zoom in and out",
    (explorer, event) => explorer.zoomByKey(event.key === "ArrowUp" ? 0.6 : 1 / 0.6),
  ],
  [["f"], "fit what is chosen, else the step", (explorer) => explorer.fitChosen()],
  [["0"], "the whole trace", (explorer) => explorer.fitTrace()],
  [["[", "]"], "previous and next step", (explorer, event) => explorer.stepBy(event.key === "[" ? -1 : 1)],
  [["k"], "longest kernel of the step, again for the next", (explorer) => explorer.jumpToLongest("kernel")],
  [["g"], "longest gap of the step, again for the next", (explorer) => explorer.jumpToLongest("gap")],
  [["/"], "search", (explorer) => explorer.search.focus()],
  [["n", "N"], "next and previous match", (explorer, event) => explorer.search.go(event.key === "n")],
  [
    ["m"],
    "measure by dragging, or hold Shift",
    (explorer) => explorer.setMode(explorer.mode === "measure" ? "zoom" : "measure"),
  ],
  [["l"], "link or unlink A and B", (explorer) => explorer.setLinked(!explorer.linked)],
  [["?"], "this help", (explorer) => explorer.help.toggle()],
  [["Escape"], "close, let go", (explorer) => explorer.letGo()],
];

/** Listens for keys while the timeline has the focus or the pointer is over it. */
export function followKeys(explorer) {
  const { signal } = explorer.closing;
  let isOver = false;
  explorer.root.addEventListener(
    "pointerenter",
    () => {
      isOver = true;
    },
    { signal },
  );
  explorer.root.addEventListener(
    "pointerleave",
    () => {
      isOver = false;
    },
    { signal },
  );
  document.addEventListener(
    "keydown",
    (event) => {
      const inside = explorer.root.contains(document.activeElement);
      if (!(inside || (isOver && !isTyping(document.activeElement)))) return;
      if (isTyping(document.activeElement) || event.ctrlKey || event.metaKey || event.altKey) return;
      const entry = KEYS.find(([keys]) => keys.includes(event.key));
      if (!entry) return;
      event.preventDefault();
      event.stopPropagation();
      entry[2](explorer, event);
    },
    { signal, capture: true },
  );
}

function isTyping(focused) {
  return (
    focused instanceof HTMLElement &&
    (focused.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(focused.tagName))
  );
}
