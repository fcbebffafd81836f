/** What a provider lacks, as people say it. */

import { element } from "../dom.js";
import { amount, exactly } from "../words.js";

/** Return a list of misses. */
export function misses(missing) {
  return element("ul", { class: "plainly" }, missing.map((miss) => element("li", { dir: "auto" }, missText(miss))));
}

const MISSES = {
  no_inventory: "has none of this class",
  trait: "is not there",
  at_root: "is not there, but on the root of the tree",
  forbidden_trait: "is there",
  aggregate: "it isn't in any of these aggregates",
  forbidden_aggregate: "it is in one of these aggregates",
  in_tree: "it isn't in this tree",
  root_required: "the root doesn't have it",
  no_sharing: "no provider that shares this class serves the tree",
  same_subtree: "the groups fit, but not below one provider",
  isolate: "the groups fit, but not on different providers",
  together: "each group fits, but not all at once",
  unknown_name: "nobody has this name",
};

/** Return what is missing; for the reason `at_root` see `withRoots`. */
export function missText(miss) {
  const { group, reason, name, asked: wanted } = miss;
  if (reason === "root_required" && name === "avoid") return "the tree is to be avoided";
  if (reason === "root_required" && name.startsWith("!")) return `${name.slice(1)}: the root has it, and must not`;
  const where = (group ? ` (group ${group})` : "") + (miss.provider ? ` on ${miss.provider}` : "");
  if (wanted === undefined || miss.total === undefined) {
    const wants = wanted === undefined ? "" : `${amount(wanted, name)} `;
    return `${wants}${name}${where}: ${MISSES[reason] ?? reason}`;
  }
  const limits = {
    capacity: `${exactly(Math.max(miss.free, 0), name)} free of ${amount(miss.total, name)}`,
    min_unit: `at least ${exactly(miss.min_unit, name)} at once`,
    max_unit: `at most ${exactly(miss.max_unit, name)} at once`,
    step_size: `only in steps of ${exactly(miss.step_size, name)}`,
  };
  const used = `${amount(miss.used, name)} used, ${amount(miss.reserved, name)} reserved, ratio ${miss.allocation_ratio}`;
  return `${exactly(wanted, name)} ${name}${where}: ${limits[reason] ?? MISSES[reason] ?? reason} (${used})`;
}
