/** How many more fit if the cloud were different: beside what fits now. */

import { element } from "../dom.js";
import { ifOf } from "../model/asked.js";
import { rootsOf } from "../model/hosts.js";
import { askMore } from "../session.js";
import { wideTable } from "../drawings/table.js";
import { heldText } from "../drawings/tree.js";
import { number } from "../words.js";

export const whatIfKind = {
  tab: "What if",
  title: "What if the cloud were different?",
  lead: "Say what a server needs, and what is different. The answer is how many fit now, and how many would. Nothing is changed.",
  go: "Compare",
  takesQuery: true,
  needsChange: true,
  fields: [],
  isAsked: (query) => query.has("query"),
  async ask(query, live, signal) {
    const changed = await ifOf(query, (wanted) => rootsOf(wanted, live, signal));
    if (!changed) throw new Error("Say what is different.");
    const requests = { asked: { query: query.get("query") } };
    const now = await askMore("capacity", { signal, body: { requests } });
    const then = await askMore("capacity", { signal, body: { requests, if: changed } });
    return { now: now.requests.asked, then: then.requests.asked };
  },
  drawn({ now, then }) {
    const more = then.fits - now.fits;
    const sure = now.exact && then.exact;
    const difference = more === 0 ? "as many" : `${number(Math.abs(more))} ${more > 0 ? "more" : "fewer"}`;
    return element(
      "section",
      { class: "panel" },
      element("h2", {}, "How many fit now, and then"),
      element("p", { class: "figure" }, `${figure(now)} → ${figure(then)}`),
      element("p", {}, sure ? `Then ${difference} fit.` : "The exact numbers are hard to find: at least the first ones can be started."),
      wideTable({
        label: "Now and then",
        heads: ["Of these servers", "Now", "Then"],
        items: [
          ["Fit", figure],
          ["Trees on which one fits", ({ trees }) => number(trees)],
          ["Runs out of", ({ limited_by: by }) => Object.keys(by).join(", ") || "–"],
          ["Stays free after that", ({ stranded }) => heldText(stranded) || "–"],
        ],
        cells: ([label, shown]) => [label, shown(now), shown(then)],
      }),
    );
  },
};

function figure({ fits, upper, exact }) {
  return exact ? number(fits) : `${number(fits)} to ${number(upper)}`;
}
