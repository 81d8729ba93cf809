// Where does a name occur? A regular expression over all names; matches stay bright while the rest fades.

import { element, fill } from "./dom.js";

const PAUSE_MS = 220;
const TABLES = { work: "GPU work", operators: "operators", calls: "host calls", annotations: "marks" };

export class Search {
  constructor(explorer) {
    this.explorer = explorer;
    this.timer = 0;
    this.field = element("input", {
      class: "tl-search",
      type: "search",
      placeholder: "Search names (regular expression)",
      "aria-label": "Search names",
      spellcheck: "false",
      oninput: () => this.soon(),
      onkeydown: (event) => this.pressed(event),
    });
    this.answer = element("span", { class: "tl-found", role: "status" });
    const button = (text, title, forward) =>
      element("button", { class: "tl-button tl-narrow", type: "button", title, onclick: () => this.go(forward) }, text);
    this.box = element(
      "div",
      { class: "tl-group" },
      this.field,
      button("‹", "Previous match (Shift n)", false),
      button("›", "Next match (n)", true),
    );
  }

  focus() {
    this.field.focus({ preventScroll: true });
    this.field.select();
  }

  pressed(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.now().then(() => this.go(!event.shiftKey));
    } else if (event.key === "Escape") {
      this.field.value = "";
      this.now();
      this.explorer.root.focus({ preventScroll: true });
    }
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), PAUSE_MS);
  }

  async now() {
    clearTimeout(this.timer);
    const pattern = this.field.value.trim();
    if (pattern === this.explorer.pattern) return;
    if (!pattern) return this.apply("", []);
    try {
      const answers = await Promise.all(
        this.explorer.panes.map((pane) => pane.api.ask("search", { pattern }, this.explorer.closing.signal)),
      );
      if (pattern === this.field.value.trim()) this.apply(pattern, answers);
    } catch (problem) {
      if (problem.ended || problem.name === "AbortError") return this.explorer.failed(problem);
      if (pattern !== this.field.value.trim()) return;
      fill(this.answer, element("span", { class: "tl-warning" }, problem.message));
    }
  }

  apply(pattern, answers) {
    this.explorer.pattern = pattern;
    const parts = answers.map((answer, index) => {
      const letter = this.explorer.panes[index].run.letter.toUpperCase();
      const texts = answer.found.map((each) => `${each.text} ${TABLES[each.table]}`);
      return element(
        "span",
        { title: answer.note || null },
        element("b", {}, letter),
        ` ${texts.join(", ") || "nothing"}`,
      );
    });
    const note = answers.find((answer) => answer.note);
    fill(
      this.answer,
      ...parts,
      note ? element("span", { class: "tl-quiet", title: note.note }, "as plain text") : null,
    );
    for (const pane of this.explorer.panes) pane.refresh();
  }

  /** Goes to the match after or before the chosen event, else the view's middle. */
  async go(forward) {
    const { explorer } = this;
    if (!explorer.pattern) return;
    const pane = explorer.chosen?.pane ?? explorer.panes[0];
    const { start, end } = pane.view;
    const after = Math.round(explorer.chosen?.story.place.start_ns ?? (forward ? start : end));
    for (const each of [pane, ...explorer.panes.filter((other) => other !== pane)]) {
      const from = each === pane ? after : Math.round(each.view.start);
      const { place } = await each.api.ask(
        "match",
        { pattern: explorer.pattern, after: from, forward: forward ? 1 : 0 },
        explorer.closing.signal,
      );
      if (place) return explorer.choosePlace(each, place, { reveal: true });
    }
    explorer.hint(forward ? "No match after this" : "No match before this");
  }
}
