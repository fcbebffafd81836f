/** Misses of trees that lack the same of one provider, such as a full pool, once. */

/**
 * Join misses that are about one provider and lack the same.
 * @param {object[]} found - misses as the service tells them, the nearest first
 * @returns {object[]} one miss for each, with all of its `trees`: `root` and `root_name`
 */
export function alike(found) {
  const joined = new Map();
  for (const miss of found) {
    const key = JSON.stringify([miss.uuid, miss.missing]);
    if (!joined.has(key)) joined.set(key, { ...miss, trees: [] });
    joined.get(key).trees.push({ root: miss.root, root_name: miss.root_name });
  }
  return [...joined.values()];
}
