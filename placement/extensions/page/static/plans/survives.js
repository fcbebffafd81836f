/** Which losses of hosts can be absorbed? */

import { element } from "../dom.js";
import { toAggregate, toOwned, toTree, withNames } from "../links.js";
import { ifOf, names, numberIn, words } from "../model/asked.js";
import { membersOf, rootsOf } from "../model/hosts.js";
import { projectsOf } from "../model/owners.js";
import { askMore } from "../session.js";
import { passed } from "../drawings/bar.js";
import { wideTable } from "../drawings/table.js";
import { heldText } from "../drawings/tree.js";
import { count, mayBeUuid, number } from "../words.js";

const GIVEN = "these";
/** so many lost hosts are named */
const NAMED = 8;

export const survivesKind = {
  tab: "Survives",
  title: "Which losses can be absorbed?",
  lead: "For each host, each aggregate or the hosts given: would all that is on it fit elsewhere if it were lost?",
  go: "Judge the losses",
  fields: [
    ["Lose each", "each", { of: [["root", "host"], ["aggregate", "aggregate"], [GIVEN, "of the sets of hosts below"]] }],
    ["Sets of hosts, or aggregates: commas inside a set, one set in each line", "sets", { of: "textarea", placeholder: "compute1, compute2\nname or uuid of an aggregate" }],
    ["So many at the same time", "together", { type: "number", min: 1, max: 5, placeholder: "1" }],
    ["Only those in these aggregates (member_of)", "among", { placeholder: "in:<uuid>,<uuid>" }],
    ["These consumers can't move", "except", { placeholder: "Uuids, with commas" }],
  ],
  isAsked: (query) => query.has("each"),
  async ask(query, live, signal, first) {
    const roots = (wanted) => rootsOf(wanted, live, signal);
    const body = { each: query.get("each") };
    if (body.each === GIVEN) {
      const sets = (query.get("sets") ?? "").split("\n").map(names).filter(({ length }) => length);
      if (!sets.length) throw new Error("Name the sets of hosts that are lost.");
      body.each = [];
      for (const set of sets) body.each.push(await membersOf(set, live, signal));
    }
    if (query.has("together")) body.together = numberIn(query.get("together"));
    if (query.has("among")) body.among = { member_of: query.get("among") };
    const stay = words(query.get("except"));
    if (stay.length) body.movable = { except: stay };
    const changed = await ifOf(query, roots);
    if (changed) body.if = changed;
    const found = await askMore("plans/survives", { signal, body });
    const isByAggregate = body.each === "aggregate";
    first({ found, isByAggregate });
    const left = found.worst.flatMap((one) => one.left.map(({ consumer }) => consumer));
    return { found, isByAggregate, projects: await projectsOf(left, signal) };
  },
  drawn: ({ found, isByAggregate, projects = new Map() }) => [
    element(
      "section",
      { class: "panel" },
      element("h2", {}, found.sets === 1 ? "Can it be absorbed?" : "Losses that can be absorbed"),
      element("p", { class: found.verdict === "impossible" ? "figure bad" : "figure" }, figure(found)),
      element("p", { dir: "auto" }, withNames(found.message)),
      found.sets > 1 && passed(found.absorbed + found.unknown, found.absorbed, found.sets),
    ),
    found.worst.map((one) => loss(one, isByAggregate, projects)),
  ],
};

/** Return the answer in large letters: of one loss it is no number. */
function figure({ sets, absorbed, unknown }) {
  if (sets !== 1) return `${number(absorbed)} of ${number(sets)}`;
  return absorbed ? "Yes" : unknown ? "Not known" : "No";
}

function loss({ name, roots, verdict, alike, consumers, placed, left, missing }, isByAggregate, projects) {
  const named = roots.slice(0, NAMED).map(({ root, name: host }, place) => [place ? ", " : "", toTree(root, host)]);
  const rest = roots.length - NAMED;
  // one aggregate is called by its uuid, several that are lost together by all of theirs
  const called = !isByAggregate ? name : mayBeUuid(name) ? toAggregate(name) : withNames(name);
  return element(
    "section",
    { class: "panel", "data-key": roots.map(({ root }) => root).join() },
    element("h2", { class: verdict === "impossible" ? "bad" : "", dir: "auto" }, isByAggregate || roots.length > 1 ? called : named),
    (roots.length > 1 || isByAggregate) && element("p", {}, named, rest > 0 && ` and ${number(rest)} more`),
    element("p", {}, `${number(placed)} of ${count(consumers, "consumer")} ${consumers === 1 ? "has" : "have"} a new place. `,
      Object.keys(missing).length > 0 && `At least ${heldText(missing)} would have to be added. `,
      verdict === "unknown" && "There may be places that weren't found."),
    alike > 0 && element("p", { class: "quiet" }, `It is the same for ${number(alike)} more.`),
    passed(consumers, placed, consumers),
    left.length > 0 &&
      element(
        "details",
        {},
        element("summary", {}, `Who has no place (${number(left.length)})`),
        wideTable({
          label: `Without a place after the loss of ${name}`,
          heads: ["Consumer", "Holds", "Why"],
          items: left,
          cells: ({ consumer, resources, reason }) => [toOwned(consumer, projects.get(consumer)), heldText(resources), withNames(reason)],
        }),
      ),
  );
}
