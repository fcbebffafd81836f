/** Which trees a list shows, and in which order. */

import { amount } from "../words.js";
import { STATES, statesOf } from "./states.js";

const ORDER = new Intl.Collator("en", { numeric: true }).compare;
const RANKS = [...STATES.keys()];

/** Return the classes that most trees have, at most so many. */
export function commonClasses(hosts, most, compare) {
  const counts = new Map();
  for (const { classes } of hosts) for (const name of classes.keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const ranked = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one) || compare(one, other));
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
  return sums.capacity > 0 ? sums.used / sums.capacity : sums.used > 0 ? Infinity : 0;
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
  const compare = comparing(sort, disabled);
  return compare ? some.sort(compare) : some;
}

function comparing(sort, disabled) {
  const [by, name] = (sort ?? "").split(" ");
  const downward = (value) => (one, other) => {
    const [mine, its] = [value(one), value(other)];
    return mine === its ? 0 : mine < its ? 1 : -1;
  };
  if (by === "used") return downward((host) => shareIn(host, name));
  if (by === "free") return downward((host) => freeIn(host, name));
  if (by === "aggregate") return (one, other) => ORDER(one.aggregates[0] ?? "~", other.aggregates[0] ?? "~");
  if (by !== "state") return null;
  const rank = (host) => {
    const [first] = statesOf(host, disabled);
    return first === undefined ? RANKS.length : RANKS.indexOf(first);
  };
  return (one, other) => rank(one) - rank(other);
}

/** Return what a tree has free of a class, in words. */
export function freeText(host, name) {
  const free = freeIn(host, name);
  return free < 0 ? "" : amount(free, name);
}
