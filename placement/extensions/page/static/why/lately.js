/** Which searches found nothing lately: each leads to why. */

import { element } from "../dom.js";
import { withNames } from "../links.js";
import { asked } from "../model/query.js";
import { addressOf } from "../place.js";
import { askMore } from "../session.js";
import { count, number } from "../words.js";

/** Return the searches of the last hour that found nothing; null: they may not be read. */
export async function emptySearches(signal) {
  try {
    return await askMore("empty_searches", { signal });
  } catch (error) {
    if (error.status === 403 || error.status === 404) return null;
    throw error;
  }
}

/** Return what is shown while nothing is asked. */
export function lately(found) {
  const hint = element(
    "p",
    {},
    "Say what a server needs. The resources of a flavor are in ",
    element("code", {}, "openstack flavor show"),
    ".",
  );
  return [element("section", { class: "panel" }, hint), found && element("section", { class: "panel" }, told(found))];
}

function told({ searches, queries }) {
  if (searches === null) {
    return element("p", { class: "quiet" }, "Searches that found nothing aren't counted here: the service has no metrics of all its workers.");
  }
  if (!searches) return element("p", {}, "Each search of the last hour found something, or there was none.");
  const others = searches - queries.reduce((sum, one) => sum + one.searches, 0);
  return [
    element("h2", {}, "Found nothing in the last hour"),
    element(
      "ul",
      { class: "nearest", "aria-label": "Searches that found nothing" },
      queries.map(({ query, reason, last, searches: times }) =>
        element(
          "li",
          {},
          element("a", { class: "anywhere", href: addressOf("why", [], asked(query)) }, asked(query)),
          element("span", { class: "quiet" }, ` ${count(times, "time")}, last at ${minuteOf(last)}`),
          reason && element("p", { class: "anywhere", dir: "auto" }, withNames(reason)),
        ),
      ),
    ),
    others > 0 && element("p", { class: "quiet" }, `And ${number(others)} more, whose queries aren't remembered.`),
  ];
}

function minuteOf(time) {
  return new Date(time).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}
