// How does a trace get into Perfetto's viewer? By the handshake that it documents for other pages: we open its window,
// say PING until it answers PONG, then post the file's bytes. They stay in the browser.

const VIEWER = "https://ui.perfetto.dev";
const EVERY_MS = 100;
const PATIENCE_MS = 30000;

/** Opens the viewer and hands a pane's trace over; says so when it does not answer. */
export async function openInPerfetto(explorer, pane) {
  const viewer = window.open(VIEWER);
  if (!viewer)
    return explorer.hint("The browser blocked the new window; allow it, or save the trace file and open it there");
  try {
    const [file] = await Promise.all([
      fetch(pane.api.address("trace"), { signal: explorer.closing.signal }),
      answered(viewer, explorer.closing.signal),
    ]);
    const buffer = await file.arrayBuffer();
    viewer.postMessage({ perfetto: { buffer, title: pane.run.title, fileName: "trace.json.gz" } }, VIEWER, [buffer]);
  } catch (problem) {
    if (problem.name !== "AbortError") explorer.hint("Perfetto did not answer. Save the trace file and open it there");
  }
}

function answered(viewer, signal) {
  return new Promise((resolve, reject) => {
    const asking = setInterval(() => viewer.postMessage("PING", VIEWER), EVERY_MS);
    const patience = setTimeout(() => done(reject, new Error("no answer")), PATIENCE_MS);
    const heard = (event) => {
      if (event.source === viewer && event.origin === VIEWER && event.data === "PONG") done(resolve);
    };
    const closed = () => done(reject, new DOMException("closed", "AbortError"));
    const done = (settle, value) => {
      clearInterval(asking);
      clearTimeout(patience);
      window.removeEventListener("message", heard);
      signal.removeEventListener("abort", closed);
      settle(value);
    };
    window.addEventListener("message", heard);
    signal.addEventListener("abort", closed);
  });
}
