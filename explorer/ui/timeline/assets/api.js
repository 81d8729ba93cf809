// How is the server asked? One place for addresses, refusals and cancelling.

import { decodeView } from "./decode.js";

/** A refusal with the server's sentence; `ended` when the id no longer works. */
export class Refused extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.ended = status === 404;
  }
}

export class Api {
  /** `base` is the routes' prefix, `id` the timeline's. */
  constructor(base, id) {
    this.base = `${base}/${encodeURIComponent(id)}`;
    this.names = new Map();
    this.waiting = new Set();
  }

  address(question, parameters = {}) {
    const given = Object.entries(parameters).filter(
      ([, value]) => value !== null && value !== undefined && value !== "",
    );
    return `${this.base}/${question}?${new URLSearchParams(given)}`;
  }

  async ask(question, parameters, signal) {
    const answer = await fetch(this.address(question, parameters), { signal });
    const content = await answer.json();
    if (!answer.ok) throw new Refused(content.problem, answer.status);
    return content;
  }

  async view(parameters, signal) {
    const answer = await fetch(this.address("view", parameters), { signal });
    if (!answer.ok) throw new Refused((await answer.json()).problem, answer.status);
    return decodeView(await answer.arrayBuffer());
  }

  /** The name if it is known already, else an empty text; unknown ones are fetched together by `fetchNames`. */
  name(table, code) {
    const known = this.names.get(`${table}:${code}`);
    if (known === undefined) this.waiting.add(`${table}:${code}`);
    return known ?? "";
  }

  /** Fetches the names that were asked for and not known; true when there were any. */
  async fetchNames(signal) {
    if (!this.waiting.size) return false;
    const byTable = new Map();
    for (const key of this.waiting) {
      const [table, code] = key.split(":");
      byTable.set(table, [...(byTable.get(table) ?? []), code]);
    }
    this.waiting.clear();
    for (const [table, codes] of byTable) {
      for (let at = 0; at < codes.length; at += 500) {
        const answer = await this.ask("names", { table, codes: codes.slice(at, at + 500).join(",") }, signal);
        for (const [code, name] of Object.entries(answer.names)) this.names.set(`${table}:${code}`, name);
      }
    }
    return true;
  }
}
