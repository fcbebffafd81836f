/** How many more of these fit? In all, by aggregate and by host, also with some hosts gone. */

import { Asking } from "../asking.js";
import { passed } from "../drawings/bar.js";
import { wideTable } from "../drawings/table.js";
import { heldText } from "../drawings/tree.js";
import { element } from "../dom.js";
import { field, input } from "../inputs.js";
import { toAggregate, toTree } from "../links.js";
import { rootsOf } from "../model/hosts.js";
import { addressOf } from "../place.js";
import { queryForm } from "../query_form.js";
import { askMore } from "../session.js";
import { count, number } from "../words.js";

const WITHOUT = "without";
const MOST = 100;

export function capacityView(place, live) {
  live.watch();
  const answer = element("div", { class: "answer" });
  const asking = new Asking(answer);
  const without = input({ placeholder: "Names or uuids, with commas" });
  const form = queryForm({
    go: "Count",
    more: field("As if these hosts were gone", without),
    use: (query) => {
      const whole = new URLSearchParams(query);
      if (without.value.trim()) whole.set(WITHOUT, without.value.trim());
      const next = addressOf("capacity", [], whole);
      if (next === location.hash) look(whole);
      else location.hash = next;
    },
  });
  const node = element(
    "div",
    { class: "capacity" },
    element("h1", {}, "How many more fit?"),
    element("div", { class: "columns" }, element("div", { class: "side" }, form.node), answer),
  );

  function go({ query }) {
    const own = new URLSearchParams(query);
    own.delete(WITHOUT);
    without.value = query.get(WITHOUT) ?? "";
    form.set(own.toString());
    look(query);
    return true;
  }

  function look(query) {
    const own = new URLSearchParams(query);
    own.delete(WITHOUT);
    if (!own.toString()) {
      asking.say("Say what one server needs. The answer is how many of them could be started, one after the other.");
      return;
    }
    const names = (query.get(WITHOUT) ?? "").split(",").map((name) => name.trim()).filter(Boolean);
    const ask = async (signal) => {
      const body = {
        requests: { asked: { query: own.toString() } },
        by: ["aggregate", "root"],
        limit: MOST,
      };
      if (names.length) body.without = await rootsOf(names, live, signal);
      const { requests } = await askMore("capacity", { signal, body });
      return requests.asked;
    };
    asking.show(ask, counted);
  }

  go(place);
  return {
    title: "Capacity",
    node,
    go,
    changed: () => asking.changed(),
    status: () => asking.refresh(),
    close: () => asking.close(),
  };
}

function counted(found) {
  const { fits, upper, exact, trees } = found;
  const figure = exact ? number(fits) : `${number(fits)} to ${number(upper)}`;
  return [
    element(
      "section",
      { class: "panel" },
      element("p", { class: fits ? "figure" : "figure bad" }, figure),
      element(
        "p",
        {},
        fits
          ? `more fit, on ${count(trees, "tree")}, if nothing else happens.`
          : "Not even one fits. ",
        !fits && element("a", { href: addressOf("why", [], questionHere()) }, "Why?"),
      ),
      !exact && element("p", { class: "quiet" }, "At least the first number can be started. The exact one is hard to find."),
    ),
    limits(found.limited_by, trees),
    stranded(found.stranded),
    table("By aggregate", "Aggregate", Object.entries(found.by_aggregate ?? {}), ([uuid]) => toAggregate(uuid)),
    table("By tree", "Tree", (found.by_root ?? []).map((part) => [part, part]), ([{ uuid, name }]) => toTree(uuid, name)),
  ];
}

function questionHere() {
  const query = new URLSearchParams(location.hash.split("?")[1] ?? "");
  query.delete(WITHOUT);
  return query;
}

function limits(found, trees) {
  const names = Object.keys(found).sort((one, other) => found[other] - found[one]);
  if (!names.length) return null;
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "What runs out first"),
    element(
      "ul",
      { class: "funnel" },
      names.map((name) =>
        element(
          "li",
          {},
          element("span", { class: "what" }, name),
          passed(found[name], found[name], trees),
          element("span", { class: "amounts" }, `on ${count(found[name], "tree")}`),
        ),
      ),
    ),
  );
}

function stranded(found) {
  const left = Object.fromEntries(Object.entries(found).filter(([, amount]) => amount > 0));
  if (!Object.keys(left).length) return null;
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "What stays free"),
    element("p", { class: "quiet" }, "After that nothing more fits, and this is left over."),
    element("p", {}, heldText(left)),
  );
}

/** Return a table of `[what, part]`; `named` returns what shows an entry. */
function table(label, head, parts, named) {
  if (!parts.length) return null;
  // an aggregate says of each class on how many trees it runs out, a tree names one
  const limited = ({ limited_by: by }) => (by === null || typeof by === "string" ? by : Object.keys(by).join(", "));
  const fits = (part) => (part.exact === false ? `${number(part.fits)} to ${number(part.upper)}` : number(part.fits));
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, label),
    wideTable({
      label,
      heads: [head, "Runs out of", "Fits"],
      items: parts,
      cells: (entry) => [named(entry), limited(entry[1]), fits(entry[1])],
      numeric: 1,
    }),
    parts.length === MOST && element("p", { class: "quiet" }, `The first ${number(MOST)} are shown.`),
  );
}
