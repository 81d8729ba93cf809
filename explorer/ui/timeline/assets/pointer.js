// What do the mouse's movements over a pane mean? Hover, click, measure, and zoom or pan with the wheel.

import { hitAt } from "./hits.js";
import { GUTTER, RULER } from "./pane.js";

const CLICK_PX = 4;
const WHEEL_ZOOM = 0.0022;

/** Listens on a pane until the explorer closes. */
export function followPointer(explorer, pane) {
  const { signal } = explorer.closing;
  const stage = pane.stage;
  let pressed = null;
  let frame = 0;

  const local = (event) => {
    const bounds = stage.getBoundingClientRect();
    return { x: event.clientX - bounds.left - GUTTER, y: event.clientY - bounds.top - RULER };
  };

  stage.addEventListener(
    "pointermove",
    (event) => {
      const { x, y } = local(event);
      explorer.pointer = { pane, x };
      if (pressed?.measuring) return explorer.measuring(pane, pane.time(pressed.x), pane.time(clamp(x, 0, pane.width)));
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() =>
        explorer.hovered(pane, event.buttons || x < 0 ? null : hitAt(pane, x, y), event),
      );
    },
    { signal },
  );

  stage.addEventListener(
    "pointerleave",
    (event) => {
      cancelAnimationFrame(frame);
      explorer.hovered(pane, null, event);
    },
    { signal },
  );

  stage.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      const { x, y } = local(event);
      if (x < 0) return;
      explorer.root.focus({ preventScroll: true });
      pressed = { x, y, measuring: explorer.mode === "measure" || event.shiftKey };
      if (pressed.measuring) {
        event.stopPropagation();
        event.preventDefault();
      }
    },
    { signal, capture: true },
  );

  // Plotly listens for the older mouse events; while measuring it must not see them.
  stage.addEventListener(
    "mousedown",
    (event) => {
      if (explorer.mode === "measure" || event.shiftKey) event.stopPropagation();
    },
    { signal, capture: true },
  );

  window.addEventListener(
    "pointermove",
    (event) => {
      if (pressed?.measuring)
        explorer.measuring(pane, pane.time(pressed.x), pane.time(clamp(local(event).x, 0, pane.width)));
    },
    { signal },
  );

  window.addEventListener(
    "pointerup",
    (event) => {
      if (!pressed) return;
      const { x, y } = local(event);
      const moved = Math.hypot(x - pressed.x, y - pressed.y) > CLICK_PX;
      if (!moved) explorer.clicked(pane, hitAt(pane, x, y));
      else if (pressed.measuring) explorer.measured(pane);
      pressed = null;
    },
    { signal },
  );

  stage.addEventListener(
    "dblclick",
    (event) => {
      const { x, y } = local(event);
      const hit = x < 0 ? null : hitAt(pane, x, y);
      if (hit) explorer.zoomTo(pane, hit.start, hit.end);
      else explorer.fit();
    },
    { signal },
  );

  stage.addEventListener("wheel", (event) => turned(explorer, pane, event, local(event).x), { signal, passive: false });
}

function turned(explorer, pane, event, x) {
  const sideways = event.shiftKey
    ? event.deltaY || event.deltaX
    : Math.abs(event.deltaX) > Math.abs(event.deltaY)
      ? event.deltaX
      : 0;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    event.preventDefault();
    explorer.zoomBy(pane, Math.exp(event.deltaY * WHEEL_ZOOM), clamp(x, 0, pane.width) / pane.width);
  } else if (sideways) {
    event.preventDefault();
    explorer.panBy(pane, sideways / pane.width);
  } else {
    explorer.hint("Hold Ctrl and turn the wheel to zoom");
  }
}

function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}
