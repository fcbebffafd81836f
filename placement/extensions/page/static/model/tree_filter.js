/** Which trees a list shows, and in which order. */

import { amount } from "../words.js";
import { ordered } from "./ordered.js";
import { STATES, statesOf } from "./states.js";

const ORDER = new Intl.Collator("en", { numeric: true }).compare;
const RANKS = [...STATES.keys()];

/** Return the classes that most trees have, at most so many; `classes` are the sums of all trees. */
export function commonClasses(classes, most, compare) {
  const ranked = [...classes.keys()].sort((one, other) => classes.get(other).trees - classes.get(one).trees || compare(one, other));
  return ranked.slice(0, most).sort(compare);
}

/** Return `[[class, amount], …]` of a text such as `VCPU:4,MEMORY_MB:8192`; null: it says something else. */
export function amountsIn(text) {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  const read = parts.map((part) => /^([A-Z0-9_]+):([0-9]{1,15})$/.exec(part));
  return read.includes(null) ? null : read.map(([, name, value]) => [name, Number(value)]);
}

export function freeIn(host, name) {
  const sums = host.classes.get(name);
  return sums ? Math.max(sums.capacity - sums.used, 0) : -1;
}

function shareIn(host, name) {
  const sums = host.classes.get(name);
  if (!sums) return -1;
  return sums.capacity > 0 ? sums.used / sums.capacity : sums.used > 0 ? Number.MAX_VALUE : 0;
}

/**
 * Return the trees that are wanted, in the order that is wanted.
 * @param {Array} hosts summaries, by name
 * @param {object} wanted `{state, aggregate, free, sort}`, each may be empty
 * @param {object} known `{disabled, having}`: roots with a trait, or null
 */
export function wantedOf(hosts, { state, aggregate, free, sort }, { disabled, having }) {
  const amounts = amountsIn(free ?? "") ?? [];
  const some = hosts.filter(
    (host) =>
      (!having || having.has(host.uuid)) &&
      (!aggregate || host.aggregates.includes(aggregate)) &&
      (!state || statesOf(host, disabled).includes(state)) &&
      amounts.every(([name, least]) => freeIn(host, name) >= least),
  );
  return inOrder(some, sort, disabled);
}

/** what a list is sorted by → returns a function that returns the place of a host, for these hosts */
const VALUES = new Map([
  ["used", (hosts, name) => (host) => -shareIn(host, name)],
  ["free", (hosts, name) => (host) => -freeIn(host, name)],
  ["aggregate", (hosts) => ranksOf(hosts, ({ aggregates }) => aggregates[0] ?? "~")],
  ["state", (hosts, name, disabled) => (host) => rankOf(statesOf(host, disabled))],
]);

function rankOf([first]) {
  return first === undefined ? RANKS.length : RANKS.indexOf(first);
}

/** Return hosts in another order; those that are alike stay in theirs. */
function inOrder(hosts, sort, disabled) {
  const [by, name] = (sort ?? "").split(" ");
  const value = VALUES.get(by)?.(hosts, name, disabled);
  return value ? ordered(hosts, Float64Array.from(hosts, value)) : hosts;
}

/** Return a function that returns which place the text of a host has among those of all. */
function ranksOf(hosts, textOf) {
  const texts = [...new Set(hosts.map(textOf))].sort(ORDER);
  const ranks = new Map(texts.map((text, rank) => [text, rank]));
  return (host) => ranks.get(textOf(host));
}

/** Return what a tree has free of a class, in words. */
export function freeText(host, name) {
  const free = freeIn(host, name);
  return free < 0 ? "" : amount(free, name);
}
