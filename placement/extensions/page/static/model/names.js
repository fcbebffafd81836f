/** What the operator calls aggregates, projects and users, as far as the service was told. */

import { askMore } from "../session.js";

const KINDS = ["aggregates", "projects", "users"];

class Names extends EventTarget {
  constructor() {
    super();
    this.forget();
  }

  /** Know none, as long as nobody has read them. */
  forget() {
    this.stop?.abort();
    this.stop = new AbortController();
    /** settled once they are read, or can't be */
    this.reading = null;
    this.known = new Map(KINDS.map((kind) => [kind, new Map()]));
    /** what is wrong with the operator's file */
    this.problem = null;
  }

  /** Read them, and tell by the event `change`. Without them the page shows ids. */
  read() {
    this.forget();
    this.reading = this.readNow(this.stop.signal);
  }

  async readNow(signal) {
    const found = await askMore("names", { signal }).catch(() => null);
    if (signal.aborted || !found) return;
    this.known = new Map(KINDS.map((kind) => [kind, new Map(Object.entries(found[kind] ?? {}))]));
    this.problem = found.problem ?? null;
    if (this.problem || KINDS.some((kind) => this.known.get(kind).size)) this.dispatchEvent(new Event("change"));
  }

  /** Return the name of an id, or null. */
  of(kind, id) {
    return this.known.get(kind).get(id) ?? null;
  }

  /** Return the id that a name stands for, or null. */
  idOf(kind, name) {
    return [...this.known.get(kind)].find(([, known]) => known === name)?.[0] ?? null;
  }
}

export const names = new Names();
