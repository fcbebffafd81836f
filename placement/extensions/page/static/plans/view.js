/** Plans: make room, evacuate, what if and survives, each a form and what it answers. */

import { Asking } from "../asking.js";
import { element, show } from "../dom.js";
import { notice } from "../links.js";
import { filled } from "../model/asked.js";
import { addressOf, lead } from "../place.js";
import { queryForm } from "../query_form.js";
import { fields, ifFields } from "./fields.js";
import { KINDS } from "./kinds.js";

export function plansView(place, live) {
  live.watch();
  const name = KINDS.has(place.path[0]) ? place.path[0] : "room";
  const kind = KINDS.get(name);
  const answer = element("div", { class: "answer" });
  const stale = element("div", { role: "status" });
  const asking = new Asking(answer);
  const own = fields(kind.fields);
  const different = ifFields();
  if (kind.needsChange) different.node.open = true;
  const more = [own.nodes, different.node];
  const form = kind.takesQuery ? queryForm({ go: kind.go, more, use: (query) => use({ query }) }) : plainForm(kind.go, more, () => use({}));
  const node = element(
    "div",
    { class: "plans" },
    element("h1", {}, kind.title),
    element("nav", { class: "tabs", "aria-label": "Kinds of plans" }, [...KINDS].map(([key, { tab }]) =>
      element("a", { href: addressOf("plans", [key]), "aria-current": key === name && "page" }, tab))),
    element("div", { class: "columns" }, element("div", { class: "side" }, form.node), element("div", {}, stale, answer)),
  );
  let asked = 0;

  function use(first) {
    const query = filled({ ...first, ...own.values(), ...different.values() });
    lead(addressOf("plans", [name], query), () => look(query));
  }

  function go(next) {
    if ((next.path[0] ?? "room") !== name) return false;
    own.set(next.query);
    different.set(next.query);
    form.set?.(next.query.get("query") ?? "");
    look(next.query);
    return true;
  }

  function look(query) {
    show(stale);
    if (!kind.isAsked(query)) {
      asking.say(kind.lead);
      return;
    }
    asked = live.news;
    asking.show((signal, first) => kind.ask(query, live, signal, first), (found) => kind.drawn(found, query));
  }

  /** A plan stays as it is while somebody carries it out: its own moves change the cloud. */
  function changed() {
    if (live.news === asked || asking.shown === null || stale.childNodes.length) return;
    const again = () => {
      asked = live.news;
      show(stale);
      asking.show(asking.question, asking.drawn);
      answer.tabIndex = -1;
      answer.focus();
    };
    show(stale, notice("The cloud has changed since this was asked. ", element("button", { type: "button", class: "plain", click: again }, "Ask again")));
  }

  go(place);
  return { title: kind.tab, node, go, changed, close: () => asking.close() };
}

function plainForm(label, more, use) {
  const submit = (event) => (event.preventDefault(), use());
  return { node: element("form", { class: "panel query", submit }, more, element("button", { class: "go" }, label)) };
}
