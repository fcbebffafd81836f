/** Groups of trees: by aggregate, by what their names begin with, or by trait. */

const ORDER = new Intl.Collator("en", { numeric: true }).compare;
/** the key of trees that belong to no group */
export const REST = "";

/**
 * Return what the names of a group have in common.
 * @param {string} name
 * @param {string} pattern such as `rack*-`: a group is what a name begins with up to the last `-` of
 *   the pattern, where `*` is anything, as little as possible; without one it is the name without
 *   the number at its end
 */
export function beginningOf(name, pattern) {
  if (!pattern) {
    // the number may have a domain behind it
    const [host] = name.split(".", 1);
    return host.replace(/\d+$/, "").replace(/[-_]+$/, "") || name;
  }
  const parts = pattern.split("*");
  let at = 0;
  for (const [place, part] of parts.entries()) {
    const found = name.indexOf(part, at);
    if (found < 0 || (place === 0 && found > 0)) return REST;
    at = found + part.length;
  }
  return parts.at(-1) === "" && parts.length > 1 ? name : name.slice(0, at);
}

/** Return `[[key, hosts], …]`, sorted as people count; what belongs to no group comes last. */
export function grouped(hosts, keysOf) {
  const found = new Map();
  for (const host of hosts) {
    const keys = keysOf(host);
    for (const key of keys.length ? keys : [REST]) {
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(host);
    }
  }
  return [...found].sort(([one], [other]) => (one === REST) - (other === REST) || ORDER(one, other));
}
