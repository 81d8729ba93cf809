// The story of the chosen event, or what was measured, at the right of the panes.

import { element, fill } from "./dom.js";
import { duration } from "./format.js";

export class Panel {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("aside", { class: "tl-panel", "aria-live": "polite" });
  }

  close() {
    this.box.classList.remove("tl-open");
    fill(this.box);
  }

  open(...children) {
    const shut = element(
      "button",
      { class: "tl-button tl-shut", type: "button", title: "Close (Esc)", onclick: () => this.explorer.letGo() },
      "×",
    );
    fill(this.box, shut, ...children);
    this.box.classList.add("tl-open");
  }

  showStory(pane, story) {
    const { palette } = this.explorer;
    const swatch = element("i", { class: "tl-swatch" });
    swatch.style.background = palette.fills[story.colour];
    const family = story.family && story.family !== story.name ? ` · ${story.family}` : "";
    this.open(
      element("div", { class: "tl-panel-kind" }, swatch, `${pane.run.letter.toUpperCase()} · ${story.kind}${family}`),
      element(
        "div",
        { class: "tl-panel-name", title: "Click to copy", onclick: () => navigator.clipboard?.writeText(story.name) },
        story.name,
      ),
      element("div", { class: "tl-panel-actions" }, ...this.actions(pane, story)),
      ...story.sections.map((section) => this.section(section)),
    );
  }

  actions(pane, story) {
    const { explorer } = this;
    const button = (text, action, title) =>
      element("button", { class: "tl-button", type: "button", title, onclick: action }, text);
    const other = explorer.panes.find((each) => each !== pane);
    const { launched_by: from, launches: to } = story;
    return [
      button("Zoom to it", () => explorer.fitChosen(), "f"),
      from ? button("Go to its launch", () => explorer.choosePlace(pane, from, { reveal: true })) : null,
      to ? button("Go to the GPU work", () => explorer.choosePlace(pane, to, { reveal: true })) : null,
      other && ["GPU work", "copy"].includes(story.kind)
        ? button(
            `Find in ${other.run.letter.toUpperCase()}`,
            () => explorer.findInOther(pane, other),
            "The same name at the same place in the step",
          )
        : null,
    ];
  }

  section(section) {
    const rows = section.entries.map((entry) => this.row(entry));
    return element("div", { class: "tl-section" }, element("h4", {}, section.title), element("dl", {}, ...rows.flat()));
  }

  row(entry) {
    const label = element("dt", {}, entry.label);
    if (entry.part) label.prepend(this.swatch(entry.part));
    const value = element("dd", { title: entry.exact || entry.reason || null }, entry.text);
    if (entry.text.length > 24) value.classList.add("tl-long");
    return [label, value];
  }

  swatch(part) {
    const swatch = element("i", { class: "tl-swatch" });
    swatch.style.background = this.explorer.palette.fills[part];
    return swatch;
  }

  showMeasure(length, measured) {
    this.open(
      element("div", { class: "tl-panel-kind" }, "measured"),
      element("div", { class: "tl-panel-name" }, duration(length)),
      ...measured.flatMap(({ pane, devices }) => devices.map((device) => this.device(pane, device))),
    );
  }

  device(pane, device) {
    const rows = [
      ["kernels that start in it", device.kernel_count],
      ["busy", `${device.busy} · ${device.busy_share}`],
      ["idle", device.idle],
    ].map(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]);
    const parts = device.parts.map((part) => this.row({ ...part }));
    const outside = device.outside
      ? [element("dt", {}, "before or after all work"), element("dd", {}, device.outside)]
      : [];
    return element(
      "div",
      { class: "tl-section" },
      element("h4", {}, `${pane.run.letter.toUpperCase()} · GPU ${device.device}`),
      element("dl", {}, ...rows.flat(), ...parts.flat(), ...outside),
    );
  }

  showSentence(sentence) {
    this.open(element("div", { class: "tl-panel-name" }, sentence));
  }
}
