/** Hosts by the names that people write. */

import { names } from "./names.js";

/** Return the uuids of roots of hosts that are named by name or uuid, each once. */
export async function rootsOf(wanted, live, signal) {
  const rootOf = await finder(live, signal);
  const roots = wanted.map((name) => {
    const root = rootOf(name);
    if (!root) throw new Error(`There is no host ${name}.`);
    return root;
  });
  return [...new Set(roots)];
}

/** Return the same of what may be aggregates, too, by uuid or the operator's name: each stands for its hosts. */
export async function membersOf(wanted, live, signal) {
  const rootOf = await finder(live, signal);
  await names.reading;
  const members = wanted.flatMap((name) => {
    const root = rootOf(name);
    if (root) return [root];
    const found = live.cloud.within(names.idOf("aggregates", name) ?? name);
    if (!found.length) throw new Error(`There is no host ${name}, and no host in such an aggregate.`);
    return found.map(({ uuid }) => uuid);
  });
  return [...new Set(members)];
}

async function finder(live, signal) {
  live.begin();
  await live.known(signal);
  const byName = new Map(live.cloud.list().map(({ uuid, name }) => [name, uuid]));
  return (name) => byName.get(name) ?? live.cloud.roots.get(name);
}
