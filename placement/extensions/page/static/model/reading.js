/** Reads all trees, a page of them at a time: no request is long, and while one is read the service writes the next. */

import { askLines, parsed } from "../session.js";

export const FIELDS = "inventories,usages,aggregates";
/** so many trees are in a page */
const TREES = 1000;
/** no cloud has more trees: where a marker would mean that, uuids aren't random */
const MOST = 10_000_000;

/**
 * Yield the pages `{number, position, trees, part}` of all trees: `trees()` yields them, and
 * `part(read)` returns which part of all trees the `read` first ones are, from 0 to 1, or null.
 */
export async function* pagesOfTrees(signal) {
  let next = asked("", signal);
  let last = "";
  for (let number = 1; next; number += 1) {
    const lines = await next;
    const { position, marker, root } = lines.length ? parsed(lines.pop()) : {};
    if (root !== undefined || !position) throw new Error("The answer ended early.");
    if (marker && marker <= last) throw new Error("The answer doesn't go on where it ended.");
    last = marker;
    next = marker ? asked(`&marker=${encodeURIComponent(marker)}`, signal) : null;
    // it is waited for after this page was taken
    next?.catch(() => {});
    yield { number, position, trees: () => taken(lines), part: (read) => (marker ? partBefore(marker, read) : 1) };
  }
}

function asked(after, signal) {
  return askLines(`provider_trees?fields=${FIELDS}&limit=${TREES}${after}`, { signal });
}

function* taken(lines) {
  for (const line of lines) yield parsed(line);
}

/**
 * Return which part of all trees come before a marker. They come in the order of their uuids, which
 * are random; null where they seem not to be.
 */
export function partBefore(marker, read) {
  const part = Number.parseInt(marker.slice(0, 8), 16) / 2 ** 32;
  return read < part * MOST ? part : null;
}
