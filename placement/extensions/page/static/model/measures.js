/** What a map of trees can show: each makes of a tree a part from 0 to 1, and says it in words. */

import { amount, count, number, percent } from "../words.js";

/** milliseconds after which a change is no longer one of late */
export const LATELY = 3_600_000;
/** what can be chosen, by its name in addresses: `{label, first, ends}`: `first` says how
 * a list of trees begins with those that have most of it, `ends` what 0 and 1 mean */
export const MEASURES = new Map([
  ["used", { label: "Used share", first: "The fullest first", ends: ["unused", "full"] }],
  ["free", { label: "Free amount", first: "The most free first", ends: ["nothing free", "the most of any tree"] }],
  ["split", { label: "Fragmentation", first: "The most fragmented first", ends: ["all free in one piece", "free in many small pieces"] }],
  ["fits", { label: "How many of a flavor fit", first: "The most room first", ends: ["none", "the most of any tree"] }],
  ["changed", { label: "Changed lately", first: "The last change first", ends: ["not in the last hour", "just now"] }],
]);

/** Return which measure a name of an address means. */
export function measureOf(name) {
  return MEASURES.has(name) ? name : "used";
}

function freeOf({ capacity, used, largest }) {
  return Math.max(capacity - used, largest, 0);
}

const SHOWN = {
  used({ capacity, used, over }) {
    return { part: capacity > 0 ? Math.min(used / capacity, 1) : used > 0 ? 1 : 0, over: over > 0 || used > capacity };
  },
  free(sums, { mostFree }) {
    return { part: mostFree > 0 ? freeOf(sums) / mostFree : 0, over: false };
  },
  split(sums) {
    const free = freeOf(sums);
    return { part: free > 0 ? 1 - sums.largest / free : 0, over: false };
  },
  fits(_, { fits, mostFits }, { uuid }) {
    const found = fits?.get(uuid);
    return { part: found === undefined ? null : mostFits > 0 ? found / mostFits : 0, over: false };
  },
  changed(_, { now }, { changed }) {
    return { part: changed === null ? 0 : Math.max(1 - (now - changed) / LATELY, 0), over: false };
  },
};

const TOLD = {
  used: ({ used, capacity, over }, { name }) =>
    `${amount(used, name)} of ${amount(capacity, name)} used, ${percent(used, capacity)}${over ? ", over capacity" : ""}`,
  free: (sums, { name }) => `${amount(freeOf(sums), name)} of ${amount(sums.capacity, name)} free`,
  split: (sums, { name }) =>
    freeOf(sums) > 0
      ? `the largest free piece is ${amount(sums.largest, name)} of ${amount(freeOf(sums), name)} free`
      : "nothing is free",
  fits: (_, { fits }, { uuid }) => (fits?.has(uuid) ? `${number(fits.get(uuid))} fit` : "not counted"),
  changed: (_, { now }, { changed }) =>
    changed === null ? "no change since this page was opened" : `changed ${count(Math.max(Math.round((now - changed) / 60_000), 0), "minute")} ago`,
};

/**
 * What a map shows of trees now.
 * @param {string} measure one of MEASURES
 * @param {string} name of a resource class
 * @param {Array} hosts summaries of trees with this class
 * @param {Map|null} fits root uuid → how many fit, if that was asked
 */
export class Scale {
  constructor(measure, name, hosts, fits = null, now = Date.now()) {
    this.measure = measure;
    this.context = {
      name,
      fits,
      now,
      mostFree: hosts.reduce((most, { classes }) => Math.max(most, freeOf(classes.get(name))), 0),
      mostFits: fits ? [...fits.values()].reduce((most, found) => Math.max(most, found), 0) : 0,
    };
  }

  /** Return `{part, over}` of a tree: `part` is from 0 to 1, or null where it isn't known. */
  of(host) {
    return SHOWN[this.measure](host.classes.get(this.context.name), this.context, host);
  }

  /** Return what is shown of a tree, in words. */
  told(host) {
    return TOLD[this.measure](host.classes.get(this.context.name), this.context, host);
  }
}
