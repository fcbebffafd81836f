/** The file of a rehearsal: whether it is one, before it is drawn. */

import { family, withAllBelow } from "../drawings/provider.js";

export const COMMAND = "nova-manage placement migrate_compute_inventory --dry-run --json > reshape.json";

const isText = (value) => typeof value === "string";
const isNumber = Number.isFinite;
const isClass = (name) => /^[A-Z0-9_]+$/.test(name);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const maybe = (check) => (value) => value === undefined || value === null || check(value);
const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
const ofClasses = (check) => (value) =>
  isObject(value) && Object.entries(value).every(([name, one]) => isClass(name) && check(one));
const having = (checks) => (value) =>
  isObject(value) && Object.entries(checks).every(([key, check]) => check(value[key]));

const isInventory = having({ total: isNumber, reserved: maybe(isNumber), allocation_ratio: maybe(isNumber) });
const isProvider = having({
  uuid: isText,
  name: isText,
  parent_provider_uuid: maybe(isText),
  inventories: ofClasses(isInventory),
  used: ofClasses(isNumber),
});
const isMove = having({
  from: maybe(isText),
  to: maybe(isText),
  resource_class: isClass,
  renamed_to: maybe(isClass),
  amount: isNumber,
});
const isNode = having({
  node: isText,
  result: isText,
  before: areTrees,
  after: areTrees,
  moves: (value) => isObject(value) && Object.values(value).every(listOf(isMove)),
  misfits: listOf(isText),
  error: maybe(isText),
});

/** Return whether these are providers that each stand in one place. */
function areTrees(providers) {
  if (!listOf(isProvider)(providers)) return false;
  if (new Set(providers.map(({ uuid }) => uuid)).size < providers.length) return false;
  const { roots, children } = family(providers);
  // what is above itself is below no root
  return withAllBelow(roots, children).length === providers.length;
}

/** Return what a file says; raise an Error that says what is wrong with it. */
export function rehearsal(written) {
  let found;
  try {
    found = JSON.parse(written);
  } catch {
    throw new Error(`This file isn't JSON. ${COMMAND} writes one.`);
  }
  if (!having({ host: isText, nodes: listOf(isNode) })(found)) {
    throw new Error(`This file isn't what ${COMMAND} writes.`);
  }
  return found;
}
