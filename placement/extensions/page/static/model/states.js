/** States of a tree that an operator looks for. */

/** the trait of hosts that get nothing new, because their compute service is disabled */
export const DISABLED = "COMPUTE_STATUS_DISABLED";
/** name in addresses → what people read */
export const STATES = new Map([
  ["over", "over capacity"],
  ["disabled", "disabled"],
  ["drained", "all reserved"],
  ["bare", "without inventory"],
  ["unused", "unused"],
]);
const ORDER = [...STATES.keys()];
/** lists of states by their names: trees in the same states share one */
const KNOWN = new Map();

/** Return the states that the amounts of a tree tell, by class → its sums. */
export function statesOfAmounts(classes) {
  let [isBare, isDrained, isUnused, isOver] = [true, true, true, false];
  for (const { total, reserved, used, over } of classes.values()) {
    if (total > 0) isBare = false;
    if (reserved < total) isDrained = false;
    if (used !== 0) isUnused = false;
    if (over > 0) isOver = true;
  }
  const names = [isOver && "over", !isBare && isDrained && "drained", isBare && "bare", !isBare && isUnused && "unused"].filter(Boolean);
  const key = names.join();
  if (!KNOWN.has(key)) KNOWN.set(key, names);
  return KNOWN.get(key);
}

/**
 * Return the states of a tree.
 * @param {object} host its summary
 * @param {Set|null} disabled roots of the trees with the trait DISABLED, if that is known
 */
export function statesOf({ uuid, states }, disabled) {
  return disabled?.has(uuid) ? ORDER.filter((state) => state === "disabled" || states.includes(state)) : states;
}
