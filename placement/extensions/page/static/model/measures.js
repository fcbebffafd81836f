/** What a map of trees can show: each makes of a tree a part from 0 to 1, and says it in words. */

import { amount, count, number, percent } from "../words.js";
import { ordered } from "./ordered.js";

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

/** what is over capacity is more than all, and what isn't known is no number */
export const OVER = Infinity;
export const UNKNOWN = Number.NaN;

/** what is shown of the sums of a tree: a part from 0 to 1, or where MOST has it, an amount */
const SHOWN = {
  used: ({ capacity, used, over }) => (over > 0 || used > capacity ? OVER : capacity > 0 ? used / capacity : 0),
  free: freeOf,
  split(sums) {
    const free = freeOf(sums);
    return free > 0 ? 1 - sums.largest / free : 0;
  },
  fits: (_, { fits }, { uuid }) => fits?.get(uuid) ?? UNKNOWN,
  changed: (_, { now }, { changed }) => (changed === null ? 0 : Math.max(1 - (now - changed) / LATELY, 0)),
};
/** amounts of which the most that a tree has is the whole */
const MOST = new Set(["free", "fits"]);

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
    this.hosts = hosts;
    this.context = { name, fits, now };
    this.shown = SHOWN[measure];
    /** the parts of the trees, in their order: see `of` */
    this.parts = Float64Array.from(hosts, (host) => this.shown(host.classes.get(name), this.context, host));
    this.most = 1;
    if (!MOST.has(measure)) return;
    const all = measure === "fits" ? (fits?.values() ?? []) : this.parts;
    this.most = 0;
    for (const value of all) if (value > this.most) this.most = value;
    this.most ||= 1;
    for (const place of this.parts.keys()) this.parts[place] /= this.most;
  }

  /** Return the part of a tree: from 0 to 1, OVER capacity, or UNKNOWN. */
  of(host) {
    return this.shown(host.classes.get(this.context.name), this.context, host) / this.most;
  }

  /** Return the parts of trees, in their order; those that the scale is made for are known. */
  partsOf(hosts) {
    return hosts === this.hosts ? this.parts : Float64Array.from(hosts, (host) => this.of(host));
  }

  /** Return trees, beginning with those that have most; equal ones stay in order. */
  downward(hosts) {
    // what isn't known comes last; two that are over are alike
    return ordered(hosts, this.partsOf(hosts).map((part) => (Number.isNaN(part) ? 1 : -Math.min(part, 2))));
  }

  /** Return what is shown of a tree, in words. */
  told(host) {
    return TOLD[this.measure](host.classes.get(this.context.name), this.context, host);
  }
}
