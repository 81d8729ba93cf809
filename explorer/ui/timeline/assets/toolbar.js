// The line of controls above the panes.

import { element, fill } from "./dom.js";
import { saveChoices } from "./saving.js";
import { menu } from "./menu.js";
import { rowChoices } from "./rowmenu.js";

export class Toolbar {
  constructor(explorer) {
    this.explorer = explorer;
    this.steps = element("div", { class: "tl-group" });
    this.modes = this.choice(
      "What dragging does",
      [
        ["zoom", "Zoom"],
        ["pan", "Pan"],
        ["measure", "Measure"],
      ],
      () => explorer.mode,
      (mode) => explorer.setMode(mode),
    );
    this.linking = this.toggle(
      "Linked",
      "A and B move together (l)",
      () => explorer.linked,
      () => explorer.setLinked(!explorer.linked),
    );
    this.layout = this.toggle(
      "Side by side",
      "A beside B instead of above it",
      () => explorer.layout === "beside",
      () => explorer.setLayout(explorer.layout === "beside" ? "stacked" : "beside"),
    );
    const two = explorer.panes.length > 1;
    const button = (text, title, action) =>
      element("button", { class: "tl-button", type: "button", title, onclick: action }, text);
    const first = element(
      "div",
      { class: "tl-line" },
      this.steps,
      element(
        "div",
        { class: "tl-group" },
        button("Fit", "Fit the step (f)", () => explorer.fit()),
        button("Whole trace", "Fit the whole trace (0)", () => explorer.fitTrace()),
      ),
      this.modes.box,
      two ? element("div", { class: "tl-group" }, this.linking.box, explorer.isCompact ? null : this.layout.box) : null,
      element(
        "div",
        { class: "tl-group tl-last" },
        menu(explorer, "Rows", "Which rows are shown", () => rowChoices(explorer)),
        menu(explorer, "Save", "Picture, trace file, other viewers", () => saveChoices(explorer)),
        button("?", "Keys (?)", () => explorer.help.toggle()),
      ),
    );
    const second = element(
      "div",
      { class: "tl-line" },
      explorer.search.box,
      element(
        "div",
        { class: "tl-group" },
        element("span", { class: "tl-quiet" }, "Longest"),
        button("kernel", "Longest kernel of the step, again for the next (k)", () => explorer.jumpToLongest("kernel")),
        button("gap", "Longest gap of the step, again for the next (g)", () => explorer.jumpToLongest("gap")),
      ),
      explorer.search.answer,
    );
    this.box = element(
      "div",
      { class: "tl-toolbar", role: "toolbar", "aria-label": "Timeline" },
      first,
      explorer.isCompact ? null : second,
    );
  }

  toggle(text, title, isOn, flip) {
    const box = element("button", { class: "tl-button", type: "button", title, onclick: flip }, text);
    const show = () => box.setAttribute("aria-pressed", String(isOn()));
    show();
    return { box, show };
  }

  choice(label, options, chosen, choose) {
    const buttons = options.map(([value, text]) =>
      element("button", { class: "tl-button", type: "button", onclick: () => choose(value) }, text),
    );
    const show = () =>
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(options[index][0] === chosen())));
    show();
    return {
      box: element("div", { class: "tl-group tl-joined", role: "group", "aria-label": label }, ...buttons),
      show,
    };
  }

  show() {
    this.modes.show();
    this.linking.show();
    this.layout.show();
    this.showSteps();
  }

  showSteps() {
    const { explorer } = this;
    const count = explorer.stepCount;
    if (!count) return fill(this.steps, element("span", { class: "tl-quiet" }, "no step marks"));
    const select = element(
      "select",
      { class: "tl-select", "aria-label": "Step" },
      ...Array.from({ length: count }, (_, index) => element("option", { value: index }, this.stepName(index))),
    );
    select.value = String(explorer.step);
    select.addEventListener("change", () => explorer.setStep(Number(select.value)));
    const button = (text, title, by) => {
      const made = element(
        "button",
        { class: "tl-button tl-narrow", type: "button", title, onclick: () => explorer.stepBy(by) },
        text,
      );
      made.disabled = explorer.step + by < 0 || explorer.step + by >= count;
      return made;
    };
    fill(this.steps, button("‹", "Previous step ([)", -1), select, button("›", "Next step (])", 1));
  }

  stepName(index) {
    const names = [...new Set(this.explorer.panes.map((pane) => pane.stepAt(index)?.label).filter(Boolean))];
    return names.length ? names.join(" · ") : `step ${index + 1}`;
  }
}
