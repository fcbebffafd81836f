/** How many of a flavor fit into each tree: asked while the map shows it. */

import { reasonOf } from "../links.js";
import { queryOfFlavor } from "../model/flavors.js";
import { Pace } from "../model/pace.js";
import { askMore } from "../session.js";

/** so many trees an answer has at most */
const MOST = 10_000;

export class Fitting {
  /** @param {function(): void} told is called when an answer came */
  constructor(told) {
    this.told = told;
    this.flavor = null;
    this.forget();
  }

  forget() {
    this.stop?.abort();
    this.stop = new AbortController();
    this.pace = new Pace();
    /** root uuid → how many fit; null: not known */
    this.fits = null;
    this.error = null;
    this.isStale = true;
    this.isAsking = false;
  }

  /** Return how many fit into each of these trees, as far as it is known; ask if it is time. */
  of(flavor, hosts) {
    if (flavor !== this.flavor) {
      this.flavor = flavor;
      this.forget();
    }
    if (flavor && this.isStale && !this.isAsking && !this.pace.rests) this.ask(flavor, hosts, this.stop.signal);
    return this.fits;
  }

  async ask(flavor, hosts, signal) {
    this.isAsking = true;
    this.isStale = false;
    const body = { requests: { asked: { query: queryOfFlavor(flavor) } }, by: ["root"], limit: MOST };
    try {
      const { requests } = await this.pace.time(() => askMore("capacity", { signal, body }));
      const found = new Map(requests.asked.by_root.map(({ uuid, fits }) => [uuid, fits]));
      // an answer names the trees with the most room: if it names fewer, nothing fits elsewhere
      if (found.size < MOST) for (const { uuid } of hosts) if (!found.has(uuid)) found.set(uuid, 0);
      this.fits = found;
      this.error = null;
    } catch (error) {
      if (signal.aborted) return;
      if (error.passes) this.isStale = true;
      else this.fits = null;
      this.error = reasonOf(error);
    }
    this.isAsking = false;
    this.told();
  }

  changed() {
    this.isStale = true;
  }

  close() {
    this.stop.abort();
  }
}
