// Which rows are shown, and how deep is each thread opened?

import { element } from "./dom.js";
import { count } from "./format.js";

/** The list for the rows menu: a box a row, a depth a thread. */
export function rowChoices(explorer) {
  return explorer.panes.flatMap((pane) => [
    element("div", { class: "tl-menu-title" }, `${pane.run.letter.toUpperCase()} · ${pane.run.title}`),
    ...choices(explorer, pane),
  ]);
}

function choices(explorer, pane) {
  const made = [];
  const seen = new Set();
  for (const row of pane.rows) {
    if (row.kind !== "operators") {
      made.push(box(explorer, pane, row));
    } else if (!seen.has(row.group)) {
      seen.add(row.group);
      made.push(depth(explorer, pane, row.group));
    }
  }
  return made;
}

function box(explorer, pane, row) {
  const tick = element("input", { type: "checkbox" });
  tick.checked = !pane.choice.hidden.has(row.key);
  tick.addEventListener("change", () => {
    if (tick.checked) pane.choice.hidden.delete(row.key);
    else pane.choice.hidden.add(row.key);
    explorer.relaid(pane);
  });
  const level = row.depth > 0 ? ` ${row.depth + 1}` : "";
  return element(
    "label",
    { class: "tl-choice" },
    tick,
    `${row.group} · ${row.label}${level}`,
    element("span", { class: "tl-quiet" }, count(row.count)),
  );
}

function depth(explorer, pane, group) {
  const deepest =
    Math.max(...pane.rows.filter((row) => row.group === group && row.kind === "operators").map((row) => row.depth)) + 1;
  const shown = element("b", {}, String(Math.min(pane.choice.depth.get(group) ?? 0, deepest)));
  const change = (by) => {
    const next = Math.min(Math.max((pane.choice.depth.get(group) ?? 0) + by, 0), deepest);
    pane.choice.depth.set(group, next);
    shown.textContent = String(next);
    explorer.relaid(pane);
  };
  const button = (text, by, title) =>
    element("button", { class: "tl-button tl-narrow", type: "button", title, onclick: () => change(by) }, text);
  return element(
    "div",
    { class: "tl-choice" },
    `${group} · operators, `,
    shown,
    ` of ${deepest} deep`,
    button("−", -1, "Close one level"),
    button("+", 1, "Open one level"),
  );
}
