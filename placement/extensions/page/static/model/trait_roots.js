/** Which trees have a trait: asked when somebody wants to know, and again when something changed. */

import { ask } from "../session.js";
import { Pace } from "./pace.js";

/** so many traits of one beginning are told apart */
const MOST = 64;
/** so many answers are kept */
const KEPT = 128;

export class TraitRoots {
  /** @param {function(): void} told is called when an answer came */
  constructor(told) {
    this.told = told;
    this.stop = new AbortController();
    /** question → `{value, pace, isStale, isAsking}` */
    this.known = new Map();
    /** how many answers came */
    this.revision = 0;
  }

  /** Return the roots of trees of which a provider has the trait; null: not known yet. */
  of(trait) {
    return this.answer(`=${trait}`, async () => {
      const { resource_providers: found } = await ask(`resource_providers?required=${encodeURIComponent(trait)}`, {
        signal: this.stop.signal,
      });
      return new Set(found.map(({ root_provider_uuid: root }) => root));
    });
  }

  /** Return the names, as an iterable, of the first traits in use that begin so; null: not known yet. */
  named(beginning) {
    return this.answer(`${beginning}*`, async () => {
      const { traits } = await ask(
        `traits?associated=true&name=startswith:${encodeURIComponent(beginning)}`,
        { signal: this.stop.signal },
      );
      return traits.slice(0, MOST);
    });
  }

  answer(question, asked) {
    if (!this.known.has(question)) {
      if (this.known.size >= KEPT) this.known.delete(this.known.keys().next().value);
      this.known.set(question, { value: null, pace: new Pace(), isStale: true, isAsking: false });
    }
    const entry = this.known.get(question);
    if (entry.isStale && !entry.isAsking && !entry.pace.rests) this.read(entry, asked);
    return entry.value;
  }

  async read(entry, asked) {
    entry.isAsking = true;
    entry.isStale = false;
    try {
      entry.value = await entry.pace.time(asked);
    } catch (error) {
      // no provider has a trait that doesn't exist; what can't be asked now is asked later
      if (error.passes) entry.isStale = true;
      else entry.value ??= new Set();
    } finally {
      entry.isAsking = false;
    }
    if (this.stop.signal.aborted) return;
    this.revision += 1;
    this.told();
  }

  /** Ask again what is wanted, when it is time for that. */
  changed() {
    for (const entry of this.known.values()) entry.isStale = true;
  }

  close() {
    this.stop.abort();
  }
}
