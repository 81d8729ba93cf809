// How does the view leave the app? As a picture, as the profiler's file, or over to other viewers.

import { action } from "./menu.js";
import { openInPerfetto } from "./perfetto.js";
import { canvasPicture, svgPicture } from "./picture.js";
import { element } from "./dom.js";

/** The list for the save menu. */
export function saveChoices(explorer) {
  return [
    action("Picture as PNG", () => canvasPicture(explorer).toBlob((blob) => save(blob, "timeline.png"))),
    action("Picture as SVG", () => save(new Blob([svgPicture(explorer)], { type: "image/svg+xml" }), "timeline.svg")),
    action(
      "TensorBoard folder",
      () => saveTensorboardFolder(explorer),
      "A zip with every run shown here, written again for TensorBoard's profiler plugin; about 15 s a million events",
    ),
    ...explorer.panes.flatMap((pane) => [
      element("div", { class: "tl-menu-title" }, `${pane.run.letter.toUpperCase()} · ${pane.run.title}`),
      action("Trace file", () => follow(pane.api.address("trace"))),
      action(
        "Open in Perfetto",
        () => openInPerfetto(explorer, pane),
        "Opens ui.perfetto.dev and hands the trace over in the browser; nothing is sent to a server",
      ),
    ]),
  ];
}

async function saveTensorboardFolder(explorer) {
  const [first, ...others] = explorer.panes;
  const address = first.api.address("tensorboard", { with: others.map((pane) => pane.run.id)[0] });
  explorer.hint("Writing the folder for TensorBoard …");
  try {
    const answer = await fetch(address, { signal: explorer.closing.signal });
    if (!answer.ok) return explorer.hint((await answer.json()).problem);
    save(await answer.blob(), "tensorboard.zip");
  } catch (problem) {
    if (problem.name !== "AbortError") explorer.hint("The server did not answer. Try again");
  }
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  follow(address, name);
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function follow(address, name = "") {
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
