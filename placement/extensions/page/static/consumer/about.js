/** What else is known about a consumer: suspects, and what became of it while it was watched. */

import { element } from "../dom.js";
import { wideTable } from "../drawings/table.js";
import { toTree, withNames } from "../links.js";
import { askMore } from "../session.js";
import { worded } from "../suspects/kinds.js";
import { amount, number } from "../words.js";

/** so many suspects are looked through */
const MOST = 10_000;

/** Return `{list, complete}` of the suspects about a consumer; null if they may not be read. */
export async function suspectsOf(uuid, signal) {
  try {
    const { suspects, marker } = await askMore(`suspects?limit=${MOST}`, { signal });
    return { list: suspects.filter(({ consumer }) => consumer === uuid), complete: marker === undefined };
  } catch (error) {
    if (error.status === 403 || error.status === 404) return null;
    throw error;
  }
}

/** Return what is suspicious about a consumer; null if nothing is. */
export function suspected(found) {
  if (!found || (!found.list.length && found.complete)) return null;
  return element(
    "section",
    { class: "panel" },
    element("h2", { class: found.list.length ? "bad" : "" }, "Suspects about it"),
    element(
      "ul",
      { class: "plainly" },
      found.list.map(({ kind, detail, provider, first_seen: since }) =>
        element("li", { dir: "auto" }, element("strong", {}, worded(kind)), ": ", withNames(detail), " ",
          provider && toTree(provider.uuid, provider.name),
          element("span", { class: "quiet" }, ` since ${since}`)),
      ),
    ),
    !found.complete && element("p", { class: "quiet" }, `Of all suspects the first ${number(MOST)} were looked through.`),
  );
}

/** Return what became of a consumer while the page watched it. */
export function told({ since, changes }, providers) {
  const time = (date) => date.toLocaleTimeString("en-GB");
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Its story"),
    element("p", { class: "quiet" }, `Watched since ${time(since)}. What was before isn't kept by the service.`),
    changes.length === 0 && element("p", {}, "Nothing has changed meanwhile."),
    changes.length > 0 &&
      wideTable({
        label: "What changed",
        heads: ["Provider", "At", "Class", "Before", "Then"],
        items: changes,
        cells: ({ time: at, provider, name, before, after }) => [
          toTree(provider, providers.get(provider)?.name ?? provider),
          time(at),
          name,
          amount(before, name),
          amount(after, name),
        ],
        numeric: 2,
      }),
  );
}
