/** Why doesn't this fit? The steps of the search, the nearest trees, and what would help. */

import { Asking } from "../asking.js";
import { passed } from "../drawings/bar.js";
import { element } from "../dom.js";
import { field, input } from "../inputs.js";
import { copyText, toTree, withNames } from "../links.js";
import { relaxed } from "../model/query.js";
import { addressOf, lead } from "../place.js";
import { queryForm } from "../query_form.js";
import { askMore } from "../session.js";
import { amount, count, number } from "../words.js";
import { alike } from "./alike.js";
import { emptySearches, lately } from "./lately.js";
import { misses } from "./misses.js";
import { movesThatHelp } from "./moves.js";
import { withRoots } from "./root_traits.js";

/** parameters of the explanation that the query for candidates doesn't have */
const OWN = ["provider", "consumer"];

export function whyView(place, live) {
  live.watch();
  const answer = element("div", { class: "answer" });
  const asking = new Asking(answer);
  const provider = input({ placeholder: "Name or uuid" });
  const consumer = input({ placeholder: "Uuid" });
  const form = queryForm({
    go: "Explain",
    more: [
      field("Why not this provider?", provider),
      field("As if this consumer held nothing", consumer),
    ],
    use: (query) => {
      const more = Object.entries({ provider: provider.value.trim(), consumer: consumer.value.trim() });
      const whole = new URLSearchParams(query);
      for (const [name, value] of more) if (value) whole.set(name, value);
      lead(addressOf("why", [], whole), () => look(whole));
    },
  });
  const node = element(
    "div",
    { class: "why" },
    element("h1", {}, "Why does it fit, or not?"),
    element("div", { class: "columns" }, element("div", { class: "side" }, form.node), answer),
  );

  function go({ query }) {
    const own = new URLSearchParams(query);
    for (const name of OWN) own.delete(name);
    provider.value = query.get("provider") ?? "";
    consumer.value = query.get("consumer") ?? "";
    form.set(own.toString());
    look(query);
    return true;
  }

  function look(query) {
    if (!query.toString()) {
      asking.show(emptySearches, lately);
      return;
    }
    asking.show(
      (signal, first) => explanation(query, signal, first),
      (found) => explained(found, query),
    );
  }

  go(place);
  return asking.view("Why", node, go);
}

async function explanation(query, signal, first) {
  const found = await askMore(`allocation_candidates/explain?${query}`, { signal });
  first(found);
  const [provider] = await withRoots(found.provider ? [found.provider] : [], signal);
  return { ...found, provider, nearest: await withRoots(found.nearest, signal) };
}

function explained(found, query) {
  const { trees } = found;
  const verdicts = {
    some: `It fits into ${count(trees.left, "tree")} of ${number(trees.total)}`,
    none: `It fits into none of ${count(trees.total, "tree")}`,
    unknown: "The search was not finished",
  };
  return [
    element(
      "section",
      { class: "panel" },
      element("h2", { class: found.verdict === "some" ? "good" : "bad" }, verdicts[found.verdict]),
      element("p", {}, withNames(found.message)),
      typeof found.candidates === "number" && found.candidates > 0 &&
        element("p", { class: "quiet" }, `${count(found.candidates, "candidate")} in all.`),
      sharing(),
    ),
    found.provider && whyNot(found.provider),
    (found.relaxations.length > 0 || !found.relaxations_complete) && relaxations(found, query),
    found.verdict !== "some" && movesThatHelp(found.relaxations, query, OWN),
    found.steps.length > 0 && funnel(found.steps, trees.total),
    found.nearest.length > 0 && nearest(found.nearest),
  ];
}

/** The address says what is asked, and nothing of who asks. */
function sharing() {
  const address = element("code", { class: "address" }, location.href);
  return element("p", { class: "along" }, copyText("Copy the link", location.href, address), address);
}

function relaxations({ relaxations: changes, relaxations_complete: complete }, query) {
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "What would help"),
    element(
      "ul",
      { class: "plainly" },
      changes.map(({ change, text, trees }) =>
        element(
          "li",
          {},
          change.move ? text : element("a", { href: addressOf("why", [], relaxed(query.toString(), change)) }, text),
          element("span", { class: "quiet" }, ` then ${count(trees, "tree")} ${trees === 1 ? "fits" : "fit"}`),
        ),
      ),
    ),
    !complete && element("p", { class: "quiet" }, "There was no time to try all changes."),
  );
}

function funnel(steps, total) {
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Step by step"),
    element(
      "ol",
      { class: "funnel" },
      steps.map((step) => {
        const { before, after } = step.trees;
        return element(
          "li",
          { class: after === before ? "" : after ? "some" : "none" },
          element("span", { class: "what", dir: "auto" }, stepText(step)),
          passed(before, after, total),
          element("span", { class: "amounts" }, after === before ? `${number(after)} left` : `${number(before)} → ${number(after)} left`),
        );
      }),
    ),
  );
}

function stepText({ group, step, name, asked: wanted }) {
  const what = {
    resources: wanted === undefined ? name : `${amount(wanted, name)} ${name}`,
    required: name,
    forbidden: `not ${name}`,
  };
  const text = what[step] ?? [step.replaceAll("_", " "), name].filter(Boolean).join(" ");
  return group ? `${text} (group ${group})` : text;
}

function whyNot(provider) {
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Why not ", toTree(provider.uuid, provider.name)),
    provider.missing.length ? misses(provider.missing) : element("p", {}, "Nothing is missing there."),
  );
}

function nearest(found) {
  return element(
    "section",
    { class: "panel" },
    element("h2", {}, "Nearest to it"),
    element(
      "ul",
      { class: "nearest" },
      alike(found).map(({ uuid, name, missing, trees }) => {
        const others = trees.filter(({ root }) => root !== uuid);
        const links = others.flatMap(({ root, root_name: of }, place) => [place ? ", " : " of ", toTree(root, of)]);
        return element("li", {}, element("h3", {}, toTree(uuid, name), links), misses(missing));
      }),
    ),
  );
}
