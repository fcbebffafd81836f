/** Which traits that a provider lacks the root of its tree has: `root_required` asks for those. */

import { ask } from "../session.js";

/**
 * Return misses as the service tells them, with the reason `at_root` in those of a trait that the root has.
 * @param {object[]} found misses of trees, or of a provider
 * @param {AbortSignal} signal
 */
export async function withRoots(found, signal) {
  const asked = found.filter(({ root, uuid, missing }) => missing.some((miss) => isElsewhere(miss, uuid, root)));
  const roots = [...new Set(asked.map(({ root }) => root))];
  const traits = new Map(await Promise.all(roots.map(async (root) => [root, await traitsOf(root, signal)])));
  return found.map((one) => ({
    ...one,
    missing: one.missing.map((miss) =>
      isElsewhere(miss, one.uuid, one.root) && any(miss.name).some((name) => traits.get(one.root).has(name)) ? { ...miss, reason: "at_root" } : miss),
  }));
}

/** Return whether a provider lacks a trait, and isn't the root itself. */
function isElsewhere({ reason, uuid }, provider, root) {
  return reason === "trait" && (uuid ?? provider) !== root;
}

function any(name) {
  return name.replace(/^in:/, "").split(",");
}

/** Return the traits of a root; none if they can't be read: they aren't what was asked. */
async function traitsOf(root, signal) {
  try {
    return new Set((await ask(`resource_providers/${root}/traits`, { signal })).traits);
  } catch (error) {
    if (signal.aborted) throw error;
    return new Set();
  }
}
