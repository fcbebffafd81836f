/**
 * Providers as the drawings take them: the shape of `nova-manage placement tree --json`.
 *
 * `{uuid, name, parent_provider_uuid, generation, inventories, used, traits, aggregates,
 * allocations}`; `inventories` is class → inventory, `used` class → amount, `allocations`
 * consumer → class → amount.
 */

import { byClass } from "../words.js";

/** so many levels are indented */
export const DEEPEST = 8;

/** Return how much of an inventory may be used in all. */
export function roomOf(inventory) {
  if (!inventory) return 0;
  const { total, reserved = 0, allocation_ratio: ratio = 1 } = inventory;
  return Math.floor((total - reserved) * ratio);
}

/** Return `[{name, inventory, used, room}]` of a provider: a row for each class. */
export function stockOf(provider) {
  const names = new Set([
    ...Object.keys(provider.inventories),
    ...Object.keys(provider.used).filter((name) => provider.used[name]),
  ]);
  return [...names].sort(byClass).map((name) => ({
    name,
    inventory: provider.inventories[name],
    used: provider.used[name] ?? 0,
    room: roomOf(provider.inventories[name]),
  }));
}

/** Return the providers without a parent among the given ones, and parent uuid → children. */
export function family(providers) {
  const uuids = new Set(providers.map(({ uuid }) => uuid));
  const roots = [];
  const children = new Map();
  for (const provider of providers) {
    const parent = provider.parent_provider_uuid;
    if (!parent || !uuids.has(parent)) {
      roots.push(provider);
    } else {
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(provider);
    }
  }
  const order = new Intl.Collator("en", { numeric: true }).compare;
  for (const some of [roots, ...children.values()]) {
    some.sort((one, other) => order(one.name, other.name));
  }
  return { roots, children };
}

/** Return providers, each followed by all below it; `children` is that of `family`. */
export function withAllBelow(providers, children) {
  const found = [];
  // no recursion: a tree may have any depth
  const rest = [...providers].reverse();
  while (rest.length) {
    const provider = rest.pop();
    found.push(provider);
    for (const child of [...(children.get(provider.uuid) ?? [])].reverse()) rest.push(child);
  }
  return found;
}

/** Return providers of `GET /berth/v1/provider_trees` in this shape. */
export function fromService(providers) {
  return providers.map((provider) => ({
    uuid: provider.uuid,
    name: provider.name,
    parent_provider_uuid: provider.parent_provider_uuid,
    generation: provider.generation,
    inventories: provider.inventories ?? {},
    used: provider.usages ?? {},
    traits: provider.traits ?? [],
    aggregates: provider.aggregates ?? [],
    allocations: Object.fromEntries(
      Object.entries(provider.allocations ?? {}).map(([uuid, { resources }]) => [uuid, resources]),
    ),
  }));
}
