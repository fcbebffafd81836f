/** Groups of the map, with what stands above each. */

import { bar } from "../drawings/bar.js";
import { element } from "../dom.js";
import { beginningOf, grouped, REST } from "../model/grouping.js";
import { noAmounts } from "../model/cloud.js";
import { names } from "../model/names.js";
import { count, percent, shortened } from "../words.js";
import { addressWith } from "./choices.js";

/**
 * Return the groups `{key, heading, hosts}` of trees; null: the traits aren't known yet.
 * @param {Array} hosts summaries of trees
 * @param {object} chosen see `chosenIn`
 * @param {TraitRoots} traits
 */
export function groupsOf(hosts, chosen, traits) {
  if (!chosen.by) return hosts.length ? [{ key: "all", heading: null, hosts }] : [];
  const keysOf = keys(chosen, traits);
  if (keysOf === null) return null;
  const all = grouped(hosts, keysOf);
  const some = chosen.in ? all.filter(([key]) => key === chosen.in) : all;
  return some.map(([key, own]) => ({ key, heading: heading(key, own, chosen), hosts: own }));
}

function keys({ by, like }, traits) {
  if (by === "aggregate") return ({ own }) => own;
  if (by === "name") return ({ name }) => [beginningOf(name, like)].filter((key) => key !== REST);
  if (!like) return () => [];
  const traitNames = traits.named(like);
  if (traitNames === null) return null;
  const roots = traitNames.map((name) => [name, traits.of(name)]);
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

function heading(key, hosts, chosen) {
  const sums = noAmounts();
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
