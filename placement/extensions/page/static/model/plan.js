/** Plans: moves in their order, whoever found them, and the commands that carry them out. */

/**
 * Return the moves of an evacuation in the shape of those that make room (extensions.rst).
 * @param {Object<string, {root, allocations}>} moves by consumer, as the service answers them
 * @param {Object<string, {consumer_type, project_id, allocations}>} consumers what they hold now
 * @param {function(string): {root: string, name: string}} rootOf returns the root of a provider
 */
export function evacuationMoves(moves, consumers, rootOf) {
  return Object.entries(moves).map(([consumer, { root, allocations }]) => {
    const { consumer_type: type = "unknown", project_id: project, allocations: held = {} } = consumers[consumer] ?? {};
    const from = new Map(Object.keys(held).map(rootOf).map((found) => [found.root, found]));
    return {
      consumer,
      consumer_type: type,
      project_id: project,
      from: [...from.values()].filter((found) => found.root !== root),
      to: [rootOf(root)],
      allocations,
      after: [],
    };
  });
}

/** Return class → amount of all that a move takes. */
export function takenBy({ allocations }) {
  const sums = {};
  for (const { resources } of Object.values(allocations)) {
    for (const [name, value] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + value;
  }
  return sums;
}

/** Return `{from, to, numbers}` of each pair of places, in the order of their first moves. */
export function pairsOf(moves) {
  const pairs = new Map();
  moves.forEach(({ from, to }, place) => {
    for (const source of from) {
      for (const target of to) {
        const key = `${source.root} ${target.root}`;
        if (!pairs.has(key)) pairs.set(key, { from: source, to: target, numbers: [] });
        pairs.get(key).numbers.push(place + 1);
      }
    }
  });
  return [...pairs.values()];
}

/** Return numbers as people write them: `1–3, 5`. */
export function ranges(numbers) {
  const parts = [];
  for (const value of numbers) {
    const last = parts.at(-1);
    if (last && last[1] === value - 1) last[1] = value;
    else parts.push([value, value]);
  }
  return parts.map(([first, end]) => (first === end ? `${first}` : `${first}–${end}`)).join(", ");
}

/**
 * Return a program of a shell: a command for each server, each after the one before. Whoever is no
 * server has a line that says so; it has no name in it, so nothing of it runs.
 */
export function commandsOf(moves) {
  const lines = moves.map(({ consumer, consumer_type: type, to }) => {
    const known = /^[A-Z0-9_]+$/.test(type) ? type : "unknown";
    if (!/^[0-9a-f-]{32,36}$/i.test(consumer)) return "# a consumer that isn't named by a uuid";
    if (known !== "INSTANCE") return `# ${consumer} is no server: its type is ${known}`;
    return `openstack --os-compute-api-version 2.56 server migrate --live-migration --host ${quoted(to[0].name)} --wait ${consumer}`;
  });
  return ["#!/bin/sh", "# ends at the first move that fails", "set -e", ...lines, ""].join("\n");
}

/** Return a text as one word of a shell, whatever stands in it. */
export function quoted(text) {
  return /^[A-Za-z0-9_.][A-Za-z0-9_.:,=-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
