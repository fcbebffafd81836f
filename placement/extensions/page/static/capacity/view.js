/** How many more of these fit? In all, by aggregate and by host, also with some hosts gone. */

import { Asking } from "../asking.js";
import { passed } from "../drawings/bar.js";
import { wideTable } from "../drawings/table.js";
import { element } from "../dom.js";
import { field, input } from "../inputs.js";
import { toAggregate, toTree } from "../links.js";
import { flavorOf, MOST_FLAVORS } from "../model/flavors.js";
import { rootsOf } from "../model/hosts.js";
import { asked } from "../model/query.js";
import { addressOf, lead } from "../place.js";
import { queryForm } from "../query_form.js";
import { askMore } from "../session.js";
import { count, number } from "../words.js";
import { beside, figure, perTree, ranked, stranded } from "./beside.js";

/** parameters of the address that the query for candidates doesn't have */
const [WITHOUT, BESIDE] = ["without", "beside"];
/** so many rows a table has; so many trees are counted one by one, all flavors together */
const MOST = 100;
const MOST_TREES = 10_000;
const MOST_COUNTED = 50_000;

export function capacityView(place, live) {
  live.watch();
  const answer = element("div", { class: "answer" });
  const asking = new Asking(answer);
  const without = input({ placeholder: "Names or uuids, with commas" });
  const others = element("textarea", { rows: 3, spellcheck: "false", placeholder: "m1.large VCPU:4,MEMORY_MB:8192" });
  const form = queryForm({
    go: "Count",
    more: [field("As if these hosts were gone", without), field("Beside it, a flavor a line", others)],
    use: (query) => {
      const whole = new URLSearchParams(query);
      if (without.value.trim()) whole.set(WITHOUT, without.value.trim());
      for (const line of linesOf(others.value)) whole.append(BESIDE, line);
      lead(addressOf("capacity", [], whole), () => look(whole));
    },
  });
  const node = element(
    "div",
    { class: "capacity" },
    element("h1", {}, "How many more fit?"),
    element("div", { class: "columns" }, element("div", { class: "side" }, form.node), answer),
  );

  function go({ query }) {
    const own = questionOf(query);
    without.value = query.get(WITHOUT) ?? "";
    others.value = query.getAll(BESIDE).join("\n");
    form.set(own.toString());
    look(query);
    return true;
  }

  function look(query) {
    const own = questionOf(query);
    if (!own.toString()) {
      asking.say("Say what one server needs. The answer is how many of them could be started, one after the other.");
      return;
    }
    const names = (query.get(WITHOUT) ?? "").split(",").map((name) => name.trim()).filter(Boolean);
    const flavors = [{ name: asked(own.toString()), query: own.toString() }, ...query.getAll(BESIDE).map(flavorOf)].slice(0, MOST_FLAVORS);
    const most = Math.min(MOST_TREES, Math.floor(MOST_COUNTED / flavors.length));
    const ask = async (signal) => {
      const body = {
        requests: Object.fromEntries(flavors.map((flavor, at) => [at, { query: flavor.query }])),
        by: ["aggregate", "root"],
        limit: most,
      };
      if (names.length) body.without = await rootsOf(names, live, signal);
      const { requests } = await askMore("capacity", { signal, body });
      // where nothing fits, an explanation looks for moves of others, too
      const all = requests[0].trees ? await treesOf(own, signal) : null;
      const counts = flavors.map((flavor, at) => ({ ...flavor, found: requests[at] }));
      return { counts, all: all === null ? null : all - (body.without?.length ?? 0) };
    };
    asking.show(ask, ({ counts, all }) => [counted(counts[0].found), beside(counts), rest(counts[0].found, most, all)]);
  }

  go(place);
  return asking.view("Capacity", node, go);
}

function linesOf(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, MOST_FLAVORS - 1);
}

/** Return how many trees a search looks at; null: who may count needn't be allowed to know. */
async function treesOf(query, signal) {
  try {
    const { trees } = await askMore(`allocation_candidates/explain?${query}`, { signal });
    return trees.total;
  } catch (error) {
    if (signal.aborted) throw error;
    return null;
  }
}

/** Return the query for candidates in an address. */
function questionOf(query) {
  const own = new URLSearchParams(query);
  for (const name of [WITHOUT, BESIDE]) own.delete(name);
  return own;
}

function counted(found) {
  const { fits, exact, trees } = found;
  return element(
    "section",
    { class: "panel" },
    element("p", { class: fits ? "figure" : "figure bad" }, figure(found)),
    element(
      "p",
      {},
      fits
        ? `more fit, on ${count(trees, "tree")}, if nothing else happens.`
        : "Not even one fits. ",
      !fits && element("a", { href: addressOf("why", [], questionHere()) }, "Why?"),
    ),
    !exact && element("p", { class: "quiet" }, "At least the first number can be started. The exact one is hard to find."),
  );
}

/** Return what else is known of the flavor that was asked for. */
function rest(found, most, all) {
  return [
    limits(found.limited_by, found.trees),
    stranded(found),
    perTree(found, most, all),
    table("By aggregate", "Aggregate", Object.entries(found.by_aggregate ?? {}), ([uuid]) => toAggregate(uuid)),
    table("By tree", "Tree", (found.by_root ?? []).map((part) => [part, part]), ([{ uuid, name }]) => toTree(uuid, name)),
  ];
}

function questionHere() {
  return questionOf(new URLSearchParams(location.hash.split("?")[1] ?? ""));
}

function limits(found, trees) {
  const names = ranked(found).map(([name]) => name);
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

/** Return a table of `[what, part]`; `named` returns what shows an entry. */
function table(label, head, parts, named) {
  if (!parts.length) return null;
  // an aggregate says of each class on how many trees it runs out, a tree names one
  const limited = ({ limited_by: by }) => (by === null || typeof by === "string" ? by : Object.keys(by).join(", "));
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, label),
    wideTable({
      label,
      heads: [head, "Runs out of", "Fits"],
      items: parts.slice(0, MOST),
      cells: (entry) => [named(entry), limited(entry[1]), figure(entry[1])],
      numeric: 1,
    }),
    parts.length > MOST && element("p", { class: "quiet" }, `The first ${number(MOST)} are shown.`),
  );
}
