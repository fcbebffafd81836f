/** Whose consumers are: an answer that names them needn't say so. */

import { askMore } from "../session.js";

/** consumers in one request */
const MOST = 10_000;

/** Return consumer uuid → `{allocations, project_id, user_id, …}` of those that hold something. */
export async function holdingsOf(consumers, signal) {
  const all = [...new Set(consumers)].filter(Boolean);
  const found = {};
  for (let begin = 0; begin < all.length; begin += MOST) {
    const body = { consumers: all.slice(begin, begin + MOST) };
    Object.assign(found, (await askMore("allocations/query", { signal, body })).consumers);
  }
  return found;
}

/** Return consumer uuid → id of its project; an empty map if that can't be read: it isn't what was asked. */
export async function projectsOf(consumers, signal) {
  try {
    const found = await holdingsOf(consumers, signal);
    return new Map(Object.entries(found).map(([uuid, { project_id: project }]) => [uuid, project]));
  } catch (error) {
    if (signal.aborted) throw error;
    return new Map();
  }
}
