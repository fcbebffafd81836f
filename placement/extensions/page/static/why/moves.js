/** Which moves of others would make room: as the explanation has them, or as a question. */

import { element } from "../dom.js";
import { addressOf } from "../place.js";
import { roomPlan } from "../plans/room.js";

/**
 * Return what moves would help.
 * @param {object[]} relaxations of an explanation; one may be a plan
 * @param {URLSearchParams} query what is asked
 * @param {string[]} own parameters that are of the explanation alone
 */
export function movesThatHelp(relaxations, query, own) {
  const asked = new URLSearchParams(query);
  for (const name of own) asked.delete(name);
  const { plan } = relaxations.find(({ change }) => change.move) ?? {};
  if (plan) return roomPlan(plan);
  const address = addressOf("plans", ["room"], new URLSearchParams({ query: asked }));
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Moves that would make room"),
    element("p", {}, element("a", { href: address }, "Find the fewest moves of others after which it fits")),
  );
}
