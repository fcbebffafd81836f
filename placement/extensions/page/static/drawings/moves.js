/** What a reshape moves, in rows and lines: no elements here, only numbers and names. */

import { DEEPEST, family, stockOf, withAllBelow } from "./provider.js";

const ROW = 22;
const HEAD = 26;
export const GAP = 14;
const STEP = 16;
/** so many rows of inventories each side has, and each provider */
const ROWS = 1500;
const ROWS_EACH = 60;

/**
 * Return where each provider and each inventory of trees is drawn.
 * @returns {{height: number, boxes: Array, places: Map}} boxes are `{provider, x, y, height, rows:
 *   [{name, used, room, y}], more}`, `more` rows are left out; places: `uuid class` → `{x, y}` of the left end of its middle
 */
export function laidOut(providers) {
  const { roots, children } = family(providers);
  const boxes = [];
  const places = new Map();
  const depths = new Map();
  let left = ROWS;
  let y = 0;
  for (const provider of withAllBelow(roots, children)) {
    const depth = (depths.get(provider.parent_provider_uuid) ?? -1) + 1;
    depths.set(provider.uuid, depth);
    const all = stockOf(provider);
    const rows = all.slice(0, Math.min(left, ROWS_EACH));
    left -= rows.length;
    const more = all.length - rows.length;
    const height = HEAD + (rows.length + Number(more > 0)) * ROW + 6;
    const box = { provider, x: Math.min(depth, DEEPEST) * STEP, y, height, rows: [], more };
    places.set(provider.uuid, { x: box.x, y: y + HEAD / 2 });
    rows.forEach((row, number) => {
      const top = y + HEAD + number * ROW;
      box.rows.push({ ...row, y: top });
      places.set(`${provider.uuid} ${row.name}`, { x: box.x, y: top + ROW / 2 });
    });
    boxes.push(box);
    y += box.height + GAP;
  }
  return { height: Math.max(y - GAP, 0), boxes, places };
}

/**
 * Return what is drawn of a node's providers, at most so many on each side. Of many providers these
 * are those that differ, give or take, and what is above them.
 * @returns {{before: Array, after: Array, left: number}} `left` providers aren't drawn
 */
export function shownOf({ before, after }, moves, most) {
  if (before.length <= most && after.length <= most) return { before, after, left: 0 };
  const sides = [before, after].map((providers) => new Map(providers.map((provider) => [provider.uuid, provider])));
  const wanted = new Set(moves.flatMap(({ from, to }) => [from, to]));
  for (const uuid of new Set([...sides[0].keys(), ...sides[1].keys()])) {
    const [had, has] = sides.map((side) => side.get(uuid));
    if (!had || !has || classesOf(had) !== classesOf(has)) wanted.add(uuid);
  }
  for (const side of sides) {
    const path = new Set();
    for (const begin of wanted) {
      for (let uuid = begin; side.has(uuid) && !path.has(uuid); uuid = side.get(uuid).parent_provider_uuid) {
        path.add(uuid);
      }
    }
    for (const uuid of path) wanted.add(uuid);
  }
  const [some, others] = sides.map((side) => [...side.values()].filter(({ uuid }) => wanted.has(uuid)).slice(0, most));
  return { before: some, after: others, left: before.length + after.length - some.length - others.length };
}

function classesOf({ inventories }) {
  return Object.keys(inventories).sort().join();
}

/**
 * Return the moves of all consumers together, those of most consumers first.
 * @param {Object<string, Array>} moves consumer → moves, as `--dry-run --json` writes them
 * @returns {Array<{from, to, resource_class, renamed_to, amount, consumers}>}
 */
export function joined(moves) {
  const found = new Map();
  for (const some of Object.values(moves)) {
    for (const move of some) {
      const key = JSON.stringify([move.from, move.to, move.resource_class, move.renamed_to]);
      if (!found.has(key)) found.set(key, { ...move, amount: 0, consumers: 0 });
      const sum = found.get(key);
      sum.amount += move.amount;
      sum.consumers += 1;
    }
  }
  return [...found.values()].sort((one, other) => other.consumers - one.consumers);
}

/** Return of each class what is used, and how much may be, before and after. */
export function sumsByClass(node) {
  const classes = new Map();
  for (const [when, providers] of [
    ["before", node.before],
    ["after", node.after],
  ]) {
    for (const provider of providers) {
      for (const { name, used, room } of stockOf(provider)) {
        if (!classes.has(name)) {
          classes.set(name, { before: 0, after: 0, room: { before: 0, after: 0 } });
        }
        const entry = classes.get(name);
        entry[when] += used;
        entry.room[when] += room;
      }
    }
  }
  return [...classes].map(([name, entry]) => ({ name, ...entry }));
}

/**
 * Return of each consumer what it holds of what moves, before and after.
 * @returns {Array<{name, before, after, keeps: boolean}>} `before` and `after` are class → amount
 */
export function sumsByConsumer(moves) {
  return Object.entries(moves).map(([name, own]) => {
    const before = {};
    const after = {};
    for (const { from, to, resource_class: was, renamed_to: now, amount } of own) {
      if (from) before[was] = (before[was] ?? 0) + amount;
      if (to) after[now ?? was] = (after[now ?? was] ?? 0) + amount;
    }
    return { name, before, after, keeps: own.every(({ from, to }) => from && to) };
  });
}
