/** Groups of the map, with what stands above each. */

import { bar } from "../drawings/bar.js";
import { element } from "../dom.js";
import { beginningOf, grouped, REST } from "../model/grouping.js";
import { names } from "../model/names.js";
import { count, percent, shortened } from "../words.js";
import { addressWith } from "./choices.js";

/**
 * Return the groups `{key, hosts}` of trees; null: the traits aren't known yet.
 * @param {Array} hosts summaries of trees
 * @param {object} chosen see `chosenIn`
 * @param {TraitRoots} traits
 */
export function groupsOf(hosts, chosen, traits) {
  if (!chosen.by) return hosts.length ? [{ key: "all", hosts }] : [];
  const keysOf = keys(chosen, traits);
  if (keysOf === null) return null;
  return grouped(hosts, keysOf).map(([key, own]) => ({ key, hosts: own }));
}

function keys({ by, like }, traits) {
  if (by === "aggregate") return ({ own }) => own;
  if (by === "name") return ({ name }) => [beginningOf(name, like)].filter((key) => key !== REST);
  if (!like) return () => [];
  const traitNames = traits.named(like);
  if (traitNames === null) return null;
  const roots = Array.from(traitNames, (name) => [name, traits.of(name)]);
  if (roots.some(([, found]) => found === null)) return null;
  const byRoot = new Map();
  for (const [name, found] of roots) {
    for (const root of found) {
      if (!byRoot.has(root)) byRoot.set(root, []);
      byRoot.get(root).push(name);
    }
  }
  return ({ uuid }) => byRoot.get(uuid) ?? [];
}

/** Return what stands above a group; null: it is of all trees. */
export function headingOf({ key, hosts }, chosen) {
  if (!chosen.by) return null;
  const sums = { used: 0, capacity: 0 };
  for (const { classes } of hosts) {
    const { used, capacity } = classes.get(chosen.class);
    sums.used += used;
    sums.capacity += capacity;
  }
  const known = chosen.by === "aggregate" ? names.of("aggregates", key) : null;
  const name = key === REST ? "no group" : shortened(known ?? key, 40);
  const isAlone = key === REST || chosen.in;
  return element(
    "p",
    { class: "map-part" },
    isAlone
      ? element("strong", { dir: "auto" }, name)
      : element("a", { href: addressWith(chosen, { in: key }), dir: "auto", title: key }, name),
    element("span", { class: "quiet" }, `${count(hosts.length, "tree")}, ${percent(sums.used, sums.capacity)} used`),
    bar(sums.used, sums.capacity),
  );
}
