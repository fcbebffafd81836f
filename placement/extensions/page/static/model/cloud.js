/** What the page knows of all trees: sums for each, and no more, so that 10,000 hosts fit. */

import { roomOf } from "../drawings/provider.js";

/** Sums of one resource class; `largest` is the largest amount that one provider has free. */
export function noAmounts() {
  return { total: 0, reserved: 0, capacity: 0, used: 0, providers: 0, over: 0, largest: 0 };
}

function add(sums, other) {
  sums.total += other.total;
  sums.reserved += other.reserved;
  sums.capacity += other.capacity;
  sums.used += other.used;
  sums.providers += other.providers;
  sums.over += other.over;
  sums.largest = Math.max(sums.largest, other.largest);
}

/**
 * Return what the page keeps of a tree, as `GET /berth/v1/provider_trees` shows it.
 * @returns {{uuid, name, order, uuids: string[], names: string[], classes: Map, own: string[],
 *   aggregates: string[], over: number, changed: number|null}} `own`: aggregates of the root;
 *   `aggregates`: of any provider; `over`: how many inventories have more used than there is;
 *   `changed`: when the page heard of a change, in milliseconds
 */
export function summary(tree, changed = null) {
  const classes = new Map();
  const aggregates = new Set();
  for (const provider of tree.providers) {
    for (const uuid of provider.aggregates ?? []) aggregates.add(uuid);
    for (const [name, amounts] of amountsOf(provider)) {
      if (!classes.has(name)) classes.set(name, noAmounts());
      add(classes.get(name), amounts);
    }
  }
  const over = [...classes.values()].reduce((sum, amounts) => sum + amounts.over, 0);
  const root = tree.providers.find(({ uuid }) => uuid === tree.root) ?? tree.providers[0];
  return {
    uuid: tree.root,
    name: root.name,
    order: orderOf(root.name),
    uuids: tree.providers.map(({ uuid }) => uuid),
    names: tree.providers.map(({ name }) => name),
    classes,
    own: root.aggregates ?? [],
    aggregates: [...aggregates],
    over,
    changed,
  };
}

/** Return `[class, amounts]` of what a provider has, and of what is used without an inventory. */
function amountsOf({ inventories = {}, usages = {} }) {
  const names = new Set([...Object.keys(inventories), ...Object.keys(usages)]);
  return [...names]
    .filter((name) => inventories[name] || usages[name])
    .map((name) => {
      const inventory = { total: 0, reserved: 0, ...inventories[name] };
      const capacity = roomOf(inventory);
      const used = usages[name] ?? 0;
      const { total, reserved } = inventory;
      const largest = Math.max(capacity - used, 0);
      return [name, { total, reserved, capacity, used, providers: 1, over: Number(used > capacity), largest }];
    });
}

/** so many digits of a number count for the order of names */
const DIGITS = 12;

/**
 * Return a text that stands in the order of people where its name does: host2 before host10. To
 * compare such texts is many times as fast as to ask the browser's collation each time.
 */
export function orderOf(name) {
  return name.toLowerCase().replaceAll(/[0-9]+/g, (digits) => digits.padStart(DIGITS, "0"));
}

function byName(one, other) {
  if (one.order !== other.order) return one.order < other.order ? -1 : 1;
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

/** All trees. */
export class Cloud {
  constructor() {
    /** root uuid → its summary */
    this.hosts = new Map();
    /** provider uuid → root uuid */
    this.roots = new Map();
    this.sorted = [];
    this.isSorted = true;
  }

  get providers() {
    return this.roots.size;
  }

  /**
   * Take a tree as it is now.
   * @param {object} tree
   * @param {number|null} [changed] when the page heard that it changed
   * @returns {Set<string>} roots of the trees from which providers moved here: read them again
   */
  take(tree, changed = null) {
    this.drop(tree.root);
    const host = summary(tree, changed);
    const moved = new Set();
    this.hosts.set(tree.root, host);
    this.isSorted = false;
    for (const uuid of host.uuids) {
      const other = this.roots.get(uuid);
      if (other) moved.add(other);
      this.roots.set(uuid, tree.root);
    }
    return moved;
  }

  /** Forget a tree. */
  drop(root) {
    const host = this.hosts.get(root);
    if (!host) return;
    // a provider that moved is another tree's now
    for (const uuid of host.uuids) if (this.roots.get(uuid) === root) this.roots.delete(uuid);
    this.hosts.delete(root);
    this.isSorted = false;
  }

  /** Return all hosts by name. */
  list() {
    if (!this.isSorted) {
      // in the order of last time: what is nearly sorted is sorted soon
      const hosts = new Map(this.hosts);
      const known = this.sorted.map(({ uuid }) => hosts.get(uuid)).filter(Boolean);
      for (const { uuid } of known) hosts.delete(uuid);
      this.sorted = [...known, ...hosts.values()].sort(byName);
      this.isSorted = true;
    }
    return this.sorted;
  }

  /** Return the hosts of which a provider has this uuid, or a name with this text. */
  found(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return this.list();
    const uuid = this.roots.get(wanted);
    if (uuid) return [this.hosts.get(uuid)];
    return this.list().filter(({ names }) =>
      names.some((name) => name.toLowerCase().includes(wanted)),
    );
  }

  /** Return the hosts with this aggregate; all without one. */
  within(aggregate) {
    return aggregate ? this.list().filter(({ own }) => own.includes(aggregate)) : this.list();
  }

  /** Return the hosts that a sharing provider with these aggregates serves. */
  servedBy(aggregates, root) {
    return this.list().filter(
      (host) => host.uuid !== root && host.aggregates.some((uuid) => aggregates.includes(uuid)),
    );
  }

  /** Return aggregate uuid → `{hosts, ...sums}` of a class; most hosts first. */
  byAggregate(resourceClass) {
    const found = new Map();
    for (const host of this.hosts.values()) {
      for (const uuid of host.own) {
        if (!found.has(uuid)) found.set(uuid, { hosts: 0, ...noAmounts() });
        const entry = found.get(uuid);
        entry.hosts += 1;
        add(entry, host.classes.get(resourceClass) ?? noAmounts());
      }
    }
    return [...found].sort(([, one], [, other]) => other.hosts - one.hosts);
  }
}

/** Return class → sums over the hosts. */
export function sumsOf(hosts) {
  const sums = new Map();
  for (const { classes } of hosts) {
    for (const [name, amounts] of classes) {
      if (!sums.has(name)) sums.set(name, noAmounts());
      add(sums.get(name), amounts);
    }
  }
  return sums;
}
