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

/**
 * Return the states of a tree.
 * @param {object} host its summary
 * @param {Set|null} disabled roots of the trees with the trait DISABLED, if that is known
 */
export function statesOf(host, disabled) {
  const sums = [...host.classes.values()];
  const isBare = !sums.some(({ total }) => total > 0);
  return [
    host.over > 0 && "over",
    disabled?.has(host.uuid) && "disabled",
    !isBare && sums.every(({ total, reserved }) => reserved >= total) && "drained",
    isBare && "bare",
    !isBare && sums.every(({ used }) => used === 0) && "unused",
  ].filter(Boolean);
}
