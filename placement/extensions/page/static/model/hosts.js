/** Hosts by the names that people write. */

/** Return the uuids of roots of hosts that are named by name or uuid. */
export async function rootsOf(names, live, signal) {
  live.begin();
  await live.known(signal);
  const byName = new Map(live.cloud.list().map(({ uuid, name }) => [name, uuid]));
  return names.map((name) => {
    const root = byName.get(name) ?? live.cloud.roots.get(name);
    if (!root) throw new Error(`There is no host ${name}.`);
    return root;
  });
}
