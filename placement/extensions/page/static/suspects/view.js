/** What may be wrong? The suspects that the service finds, by kind, with what to do. */

import { Asking } from "../asking.js";
import { wideTable } from "../drawings/table.js";
import { element } from "../dom.js";
import { toOwned, toTree, withNames } from "../links.js";
import { projectsOf } from "../model/owners.js";
import { addressOf } from "../place.js";
import { askMore } from "../session.js";
import { number } from "../words.js";
import { worded } from "./kinds.js";

const MOST = 1000;

export function suspectsView(place, live) {
  live.watch();
  const answer = element("div", { class: "answer" });
  const asking = new Asking(answer);
  const node = element("div", { class: "suspects" }, element("h1", {}, "What may be wrong?"), answer);

  function go({ query }) {
    const kind = query.get("kind");
    const asked = new URLSearchParams({ limit: MOST, ...(kind && { kind }) });
    asking.show(
      async (signal, first) => {
        const found = await askMore(`suspects?${asked}`, { signal });
        first({ found });
        return { found, projects: await projectsOf(found.suspects.map(({ consumer }) => consumer), signal) };
      },
      ({ found, projects = new Map() }) => told(found, kind, projects),
    );
    return true;
  }

  go(place);
  return asking.view("Suspects", node, go);
}

function told({ suspects, kinds, marker }, chosen, projects) {
  const link = (kind, text) =>
    element(
      "li",
      {},
      element(
        "a",
        {
          href: addressOf("suspects", [], new URLSearchParams(kind ? { kind } : {})),
          "aria-current": kind === chosen && "true",
          class: kind && kinds[kind] ? "some" : "",
        },
        text,
      ),
    );
  return [
    element(
      "ul",
      { class: "health", "aria-label": "Kinds" },
      link(null, "all"),
      Object.entries(kinds).map(([kind, found]) => link(kind, `${worded(kind)}: ${number(found)}`)),
    ),
    suspects.length === 0
      ? element("p", { class: "notice" }, "Nothing of this kind is found.")
      : element("section", { class: "panel" }, wideTable({
          label: "Suspects",
          heads: ["Kind", "Where", "What", "Since"],
          items: suspects,
          cells: (suspect) => [
            worded(suspect.kind),
            [
              suspect.provider && toTree(suspect.provider.uuid, suspect.provider.name, 40),
              suspect.provider && suspect.consumer && element("br"),
              suspect.consumer && toOwned(suspect.consumer, projects.get(suspect.consumer)),
            ],
            withNames(suspect.detail),
            suspect.first_seen.replace("T", " ").replace("Z", ""),
          ],
        })),
    marker && element("p", { class: "quiet" }, `These are the first ${number(suspects.length)}. Choose a kind to see more of it.`),
  ];
}
