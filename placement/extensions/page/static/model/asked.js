/** What the forms of plans say: lists of names, and the cloud as if it were different. */

/** the parameters of an address that say what is different */
export const IF_PARAMETERS = ["if_without", "if_freed", "if_like", "if_count", "if_ratios", "if_more"];

/** Return the words of a list with commas or spaces. */
export function words(text) {
  return (text ?? "").split(/[\s,]+/).filter(Boolean);
}

/** Return the names of a list with commas: a name may have spaces. */
export function names(text) {
  return (text ?? "").split(",").map((name) => name.trim()).filter(Boolean);
}

/** Return the JSON object of a field, or null if it is empty. */
export function objectIn(text, field) {
  if (!text?.trim()) return null;
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Error(`${field}: this isn't a JSON object.`);
  }
  return value;
}

/** Return a number of a field, or undefined if it is empty. */
export function numberIn(text) {
  return text ? Number(text) : undefined;
}

/**
 * Return the key `if` of a body; undefined if nothing is different.
 * @param {URLSearchParams} query of the address
 * @param {function(string[]): Promise<string[]>} rootsOf returns the uuids of hosts by their names
 */
export async function ifOf(query, rootsOf) {
  const changed = { ...objectIn(query.get("if_more"), "More changes") };
  const without = names(query.get("if_without"));
  if (without.length) changed.without = [...(changed.without ?? []), ...(await rootsOf(without))];
  const freed = words(query.get("if_freed"));
  if (freed.length) changed.freed = [...(changed.freed ?? []), ...freed];
  const like = query.get("if_like")?.trim();
  if (like) {
    const [root] = await rootsOf([like]);
    const added = { like: root, count: numberIn(query.get("if_count")) ?? 1, empty: true, name: "new" };
    changed.add = [...(changed.add ?? []), added];
  }
  const ratios = words(query.get("if_ratios"));
  if (ratios.length) {
    const classes = Object.fromEntries(ratios.map(ratio));
    changed.all = { ...changed.all, classes: { ...changed.all?.classes, ...classes } };
  }
  return Object.keys(changed).length ? changed : undefined;
}

function ratio(text) {
  const [name, value] = text.split("=");
  if (!name || !(Number(value) > 0)) throw new Error(`“${text}” isn't like VCPU=4.0.`);
  return [name, { allocation_ratio: Number(value) }];
}

/** Return the parameters that have a value. */
export function filled(values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (String(value).trim()) query.set(name, String(value).trim());
  return query;
}
