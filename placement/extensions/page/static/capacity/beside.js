/** Flavors beside each other, how many fit into how many trees, and what is left over. */

import { passed } from "../drawings/bar.js";
import { wideTable } from "../drawings/table.js";
import { heldText } from "../drawings/tree.js";
import { element } from "../dom.js";
import { histogram } from "../model/flavors.js";
import { addressOf } from "../place.js";
import { count, number } from "../words.js";

/** Return how many fit; between two numbers where that is hard to find. */
export function figure({ fits, upper, exact }) {
  return exact === false ? `${number(fits)} to ${number(upper)}` : number(fits);
}

/** Return a table of flavors `{name, query, found}`; null if there is one alone. */
export function beside(flavors) {
  if (flavors.length < 2) return null;
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Beside each other"),
    element("p", { class: "quiet" }, "Each counted as if the others weren't there."),
    wideTable({
      label: "Flavors beside each other",
      heads: ["Flavor", "Runs out of", "Then stays free", "Trees", "Fits"],
      items: flavors,
      cells: ({ name, query, found }) => [
        element("a", { href: addressOf(found.fits ? "capacity" : "why", [], query), dir: "auto" }, name),
        ranked(found.limited_by).map(([own, trees]) => `${own} (${count(trees, "tree")})`).join(", ") || "–",
        heldText(left(found.stranded)) || "–",
        number(found.trees),
        figure(found),
      ],
      numeric: 2,
    }),
  );
}

/**
 * Return how many trees have room for how many.
 * @param {object} found the answer about the flavor
 * @param {number} most trees that an answer names
 * @param {number|null} all how many trees there are; null: not known
 */
export function perTree(found, most, all) {
  const counts = found.by_root.map(({ fits }) => fits);
  const none = Math.max((all ?? 0) - found.trees, 0);
  if (!counts.length || counts.length + none < 2) return null;
  const bars = [{ from: 0, to: 0, trees: none }, ...histogram(counts)].filter(({ trees }) => trees > 0);
  const highest = bars.reduce((high, { trees }) => Math.max(high, trees), 0);
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Into each tree"),
    element(
      "ul",
      { class: "funnel", "aria-label": "How many fit into how many trees" },
      bars.map(({ from, to, trees }) =>
        element(
          "li",
          {},
          element("span", { class: "what" }, to === 0 ? "none" : from === to ? number(from) : `${number(from)} to ${number(to)}`),
          passed(trees, trees, highest),
          element("span", { class: "amounts" }, count(trees, "tree")),
        ),
      ),
    ),
    counts.length === most && element("p", { class: "quiet" }, `Those with room are the ${number(most)} trees with the most of it.`),
  );
}

/** Return what is left over when nothing more fits, and why. */
export function stranded(found) {
  const some = left(found.stranded);
  if (!Object.keys(some).length) return null;
  const [[first, trees] = []] = ranked(found.limited_by);
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "What stays free"),
    element("p", { class: "quiet" }, "After that nothing more fits, and this is left over",
      first ? `, mostly because ${first} runs out first, on ${count(trees, "tree")}.` : "."),
    element("p", {}, heldText(some)),
  );
}

function left(amounts) {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount > 0));
}

/** Return `[class, trees]` of what runs out, on the most trees first. */
export function ranked(limits) {
  return Object.entries(limits).sort(([, one], [, other]) => other - one);
}
