/** Which few moves make room for a request? */

import { element } from "../dom.js";
import { toOwned, toTree, withNames } from "../links.js";
import { ifOf, names, numberIn, objectIn, words } from "../model/asked.js";
import { rootsOf } from "../model/hosts.js";
import { projectsOf } from "../model/owners.js";
import { addressOf } from "../place.js";
import { askMore } from "../session.js";
import { drawPlan } from "../drawings/plan.js";
import { heldText } from "../drawings/tree.js";
import { count } from "../words.js";
import { exported } from "./export.js";

const CONSTRAINTS =
  "What placement can't know, such as server groups: servers that must be “apart” or “together”, and hosts that a server must “not_on” be. Each is a uuid.";
const VERDICTS = {
  fits: "Nothing has to move",
  impossible: "No moves make room",
  unknown: "No plan was found in time",
};

export const roomKind = {
  tab: "Make room",
  title: "Which few moves make room?",
  lead: "Say what a server needs. The answer is the fewest moves of others after which it fits.",
  go: "Find moves",
  takesQuery: true,
  fields: [
    ["For so many", "count", { type: "number", min: 1, max: 1000, placeholder: "1" }],
    ["At most so many moves", "moves", { type: "number", min: 1, max: 10, placeholder: "5" }],
    ["Only on these hosts", "within", { placeholder: "Names or uuids, with commas" }],
    ["These consumers stay", "except", { placeholder: "Uuids, with commas" }],
    ["Move least of", "by", { list: "classes", placeholder: "moves, or a class" }],
    ["Constraints, as JSON", "constraints", { of: "textarea", placeholder: '{"apart": [["<server>", "<server>"]], "not_on": {"<server>": ["<host>"]}}', hint: CONSTRAINTS }],
  ],
  isAsked: (query) => query.has("query"),
  async ask(query, live, signal, first) {
    const roots = (wanted) => rootsOf(wanted, live, signal);
    const body = { query: query.get("query") };
    if (query.has("count")) body.count = numberIn(query.get("count"));
    if (query.has("moves")) body.limit = { moves: numberIn(query.get("moves")) };
    if (query.has("by")) body.by = query.get("by");
    const within = names(query.get("within"));
    if (within.length) body.within = await roots(within);
    const stay = words(query.get("except"));
    if (stay.length) body.movable = { except: stay };
    const constraints = objectIn(query.get("constraints"), "Constraints");
    if (constraints) body.constraints = constraints;
    const changed = await ifOf(query, roots);
    if (changed) body.if = changed;
    const plan = await askMore("plans/room", { signal, body });
    first({ plan });
    return { plan, projects: await projectsOf(plan.moves.map(({ consumer }) => consumer), signal) };
  },
  drawn: ({ plan, projects }, query) => [...roomPlan(plan, projects), plan.verdict !== "fits" && element("p", {}, element("a", { href: addressOf("why", [], query.get("query")) }, "Why it doesn't fit as it is"))],
};

/** Return what an answer of `POST /berth/v1/plans/room` says; also explanations may have one. */
export function roomPlan(plan, projects = new Map()) {
  const { verdict, moves, cost, exact, message } = plan;
  const amounts = Object.fromEntries(Object.entries(cost.amounts).filter(([, value]) => value > 0));
  const head = verdict === "possible" ? `${count(moves.length, "move")} ${moves.length === 1 ? "makes" : "make"} room` : VERDICTS[verdict];
  return [
    element(
      "section",
      { class: "panel" },
      element("h2", { class: verdict === "fits" || verdict === "possible" ? "good" : "bad" }, head),
      element("p", { dir: "auto" }, withNames(message)),
      moves.length > 0 && element("p", { class: "quiet" }, `${heldText(amounts)} would move. `, exact ? "No plan is cheaper." : "There may be a cheaper plan."),
      moves.length > 0 && drawPlan(moves, { consumer: (uuid) => toOwned(uuid, projects.get(uuid)), tree: toTree }),
    ),
    moves.length > 0 && exported(plan, moves),
  ];
}
