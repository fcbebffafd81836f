/** Can these hosts be emptied, and where would everybody go? */

import { element } from "../dom.js";
import { reasonOf, toConsumer, toOwned, toTree, withNames } from "../links.js";
import { ifOf, names } from "../model/asked.js";
import { rootsOf } from "../model/hosts.js";
import { holdingsOf } from "../model/owners.js";
import { evacuationMoves } from "../model/plan.js";
import { askMore } from "../session.js";
import { drawPlan } from "../drawings/plan.js";
import { wideTable } from "../drawings/table.js";
import { count, number } from "../words.js";
import { exported } from "./export.js";

export const evacuateKind = {
  tab: "Evacuate",
  title: "Can these hosts be emptied?",
  lead: "Name hosts. The answer is a new place for each consumer on them, all of them together.",
  go: "Find places",
  fields: [["Hosts", "hosts", { placeholder: "Names or uuids, with commas", required: true }]],
  isAsked: (query) => query.has("hosts"),
  async ask(query, live, signal, first) {
    const roots = (wanted) => rootsOf(wanted, live, signal);
    const body = { without: await roots(names(query.get("hosts"))) };
    const changed = await ifOf(query, roots);
    if (changed) body.if = changed;
    const answer = await askMore("capacity/evacuate", { signal, body });
    first({ answer, untold: "Who moves from where is asked." });
    try {
      const held = await holdingsOf(Object.keys(answer.moves), signal);
      return { answer, held, moves: evacuationMoves(answer.moves, held, (uuid) => rootOf(live.cloud, uuid)) };
    } catch (error) {
      if (signal.aborted) throw error;
      return { answer, untold: `Who moves from where can't be told. ${reasonOf(error)}` };
    }
  },
  drawn: ({ answer, untold, held = {}, moves = [] }) => [
    element(
      "section",
      { class: "panel" },
      element("h2", { class: answer.fits ? "good" : "bad" }, verdict(answer)),
      moves.length > 0 && drawPlan(moves, { consumer: (uuid) => toOwned(uuid, held[uuid]?.project_id), tree: toTree }),
      untold && element("p", { class: "quiet", role: "status" }, untold),
    ),
    answer.unfit.length > 0 && unfit(answer.unfit),
    !untold && exported(answer, moves),
  ],
};

/** Return `{root, name}` of the tree of a provider; who came since is known by the uuid alone. */
function rootOf(cloud, uuid) {
  const root = cloud.roots.get(uuid) ?? uuid;
  return { root, name: cloud.hosts.get(root)?.name ?? root };
}

function verdict({ consumers: { total, fit, unfit: left }, exact }) {
  if (!total) return "Nobody is on them";
  if (!left) return `All ${count(total, "consumer")} ${total === 1 ? "has" : "have"} a new place`;
  const many = `${number(left)} of ${count(total, "consumer")} ${left === 1 ? "has" : "have"} no new place`;
  return exact ? many : `${many} that was found; at most ${number(fit)} are placed here`;
}

function unfit(left) {
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Who stays"),
    wideTable({
      label: "Consumers without a new place",
      heads: ["Consumer", "Why"],
      items: left,
      cells: ({ consumer, message }) => [toConsumer(consumer), withNames(message)],
    }),
  );
}
