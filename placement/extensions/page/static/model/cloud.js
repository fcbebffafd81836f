/** What the page knows of all trees: sums for each, and no more, so that 100,000 hosts fit. */

import { roomOf } from "../drawings/provider.js";
import { statesOfAmounts } from "./states.js";
import { Totals } from "./totals.js";

/**
 * Return what the page keeps of a tree, as `GET /berth/v1/provider_trees` shows it.
 * @returns {{uuid, name, order, uuids: string[], text: string, classes: Map, states: string[],
 *   own: string[], aggregates: string[], over: number, changed: number|null}} `text`: the names of
 *   its providers, to search in; `own`: aggregates of the root; `aggregates`: of any provider;
 *   `over`: how many inventories have more used than there is; `changed`: when the page heard of a
 *   change, in milliseconds
 */
export function summary(tree, changed = null) {
  const classes = new Map();
  const aggregates = new Set();
  for (const provider of tree.providers) {
    for (const uuid of provider.aggregates ?? []) aggregates.add(uuid);
    const { inventories = {}, usages = {} } = provider;
    for (const name of Object.keys(inventories)) add(classes, name, inventories[name], usages[name] ?? 0);
    // what is used without an inventory is more than there is
    for (const name of Object.keys(usages)) if (usages[name] && !inventories[name]) add(classes, name, NONE, usages[name]);
  }
  const over = [...classes.values()].reduce((sum, amounts) => sum + amounts.over, 0);
  const root = tree.providers.find(({ uuid }) => uuid === tree.root) ?? tree.providers[0];
  return {
    uuid: tree.root,
    name: root.name,
    order: orderOf(root.name),
    uuids: tree.providers.map(({ uuid }) => uuid),
    text: tree.providers.map(({ name }) => name).join("\n").toLowerCase(),
    classes,
    states: statesOfAmounts(classes),
    own: root.aggregates ?? [],
    aggregates: [...aggregates],
    over,
    changed,
  };
}

const NONE = { total: 0, reserved: 0 };

/**
 * Add an inventory to the sums by class of a tree: `{total, reserved, capacity, used, providers,
 * over, largest}`; `largest` is the largest amount that one provider has free.
 */
function add(classes, name, inventory, used) {
  let sums = classes.get(name);
  if (!sums) {
    sums = { total: 0, reserved: 0, capacity: 0, used: 0, providers: 0, over: 0, largest: 0 };
    classes.set(name, sums);
  }
  const capacity = roomOf(inventory);
  sums.total += inventory.total;
  sums.reserved += inventory.reserved ?? 0;
  sums.capacity += capacity;
  sums.used += used;
  sums.providers += 1;
  sums.over += Number(used > capacity);
  sums.largest = Math.max(sums.largest, capacity - used);
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
    this.totals = new Totals();
    /** aggregate uuid → totals of the trees whose roots are in it */
    this.aggregates = new Map();
    /** state → how many trees have it */
    this.states = new Map();
    /** how often a tree came or went: what was made of the trees is good for this number */
    this.revision = 0;
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
    const before = this.hosts.get(tree.root);
    const host = summary(tree, changed);
    const moved = new Set();
    const isInOrder = this.isSorted && before?.name === host.name;
    this.drop(tree.root);
    if (isInOrder) {
      host.place = before.place;
      this.sorted[host.place] = host;
      this.isSorted = true;
    } else {
      this.isSorted = false;
    }
    this.hosts.set(tree.root, host);
    this.count(host, 1);
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
    this.count(host, -1);
  }

  count(host, sign) {
    this.revision += 1;
    this.totals.add(host, sign);
    for (const state of host.states) this.states.set(state, (this.states.get(state) ?? 0) + sign);
    for (const uuid of host.own) {
      if (!this.aggregates.has(uuid)) this.aggregates.set(uuid, new Totals());
      const totals = this.aggregates.get(uuid);
      totals.add(host, sign);
      if (!totals.trees) this.aggregates.delete(uuid);
    }
  }

  /** Return all hosts by name. */
  list() {
    if (!this.isSorted) {
      // in the order of last time: what is nearly sorted is sorted soon
      const hosts = new Map(this.hosts);
      const known = this.sorted.map(({ uuid }) => hosts.get(uuid)).filter(Boolean);
      for (const { uuid } of known) hosts.delete(uuid);
      this.sorted = [...known, ...hosts.values()].sort(byName);
      for (const [place, host] of this.sorted.entries()) host.place = place;
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
    return this.list().filter((host) => host.text.includes(wanted));
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

  /** Return the totals of the hosts with this aggregate; of all without one. */
  totalsWithin(aggregate) {
    return aggregate ? (this.aggregates.get(aggregate) ?? new Totals()) : this.totals;
  }

  /** Return `[[aggregate uuid, {hosts, ...sums of a class}], …]`, most hosts first, then by uuid. */
  byAggregate(resourceClass) {
    return [...this.aggregates]
      .map(([uuid, totals]) => [uuid, { hosts: totals.trees, ...totals.of(resourceClass) }])
      .sort(([uuid, one], [next, other]) => other.hosts - one.hosts || (uuid < next ? -1 : 1));
  }
}
