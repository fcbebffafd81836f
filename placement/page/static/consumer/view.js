/** What does this consumer hold, and where? */

import { element, show } from "../dom.js";
import { wideTable } from "../drawings/table.js";
import { heldText } from "../drawings/tree.js";
import { keeping } from "../keeping.js";
import { copyable, failure, notice, toTree } from "../links.js";
import { addressOf } from "../place.js";
import { askMore } from "../session.js";
import { count, exactly } from "../words.js";

const FACTS = [
  ["Type", "consumer_type"],
  ["Project", "project_id"],
  ["User", "user_id"],
  ["Generation", "consumer_generation"],
];
/** uuids in one request */
const MOST_UUIDS = 100;

export function consumerView(place, live) {
  live.begin();
  /** what is shown, as text; null while a question is open, or was refused */
  let shown = null;
  let stop = new AbortController();
  let wanted = place.path[0] ?? "";
  const input = element("input", { value: wanted, spellcheck: "false", autocomplete: "off", required: true });
  const found = element("div");
  const node = element(
    "div",
    { class: "consumer" },
    element("h1", {}, "Consumer"),
    element(
      "form",
      {
        class: "line",
        submit: (event) => {
          event.preventDefault();
          const next = addressOf("consumer", [input.value.trim()]);
          if (next === location.hash) look();
          else location.hash = next;
        },
      },
      element("label", { class: "field" }, element("span", {}, "Uuid of a server or another consumer"), input),
      element("button", { class: "go" }, "Show what it holds"),
    ),
    found,
  );

  async function look() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    shown = null;
    if (!wanted) {
      show(found, notice("The uuid of a server is in the output of ", element("code", {}, "openstack server list"), "."));
      return;
    }
    show(found, notice("It is being read."));
    try {
      tell(await read(wanted, signal));
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      const again = element("button", { type: "button", class: "plain", click: look }, "Try again");
      show(found, failure(error, again));
    }
  }

  /** Show what was read, unless it is what is shown. */
  function tell(holdings) {
    const text = JSON.stringify([holdings, [...holdings.providers]]);
    if (text === shown) return;
    shown = text;
    keeping(found, () => show(found, drawn(holdings)));
  }

  /** Ask again because something changed; what can't be read now leaves what is shown. */
  async function lookAgain() {
    const { signal } = stop;
    if (shown === null) return;
    try {
      const holdings = await read(wanted, signal);
      if (!signal.aborted && shown !== null) tell(holdings);
    } catch {
      // the next change asks again, and the top of the page says that the service is away
    }
  }

  look();
  return {
    title: "Consumer",
    node,
    go(next) {
      wanted = next.path[0] ?? "";
      input.value = wanted;
      look();
      return true;
    },
    changed: lookAgain,
    close: () => stop.abort(),
  };
}

/** Return `{uuid, consumer, providers}` of a consumer; `uuid` is undefined if it holds nothing. */
async function read(wanted, signal) {
  const { consumers } = await askMore("allocations/query", { signal, body: { consumers: [wanted] } });
  const [uuid] = Object.keys(consumers);
  const consumer = consumers[uuid];
  const providers = await providersOf(Object.keys(consumer?.allocations ?? {}), signal);
  return { uuid, consumer, providers };
}

/** Return provider uuid → `{name, root}`, with `root` of its tree: `{uuid, name}`. */
async function providersOf(uuids, signal) {
  const known = new Map();
  for (let begin = 0; begin < uuids.length; begin += MOST_UUIDS) {
    const some = uuids.slice(begin, begin + MOST_UUIDS).join(",");
    const { trees } = await askMore(`provider_trees?fields=usages&uuid=in:${some}`, { signal });
    for (const { root, providers } of trees) {
      const top = providers.find(({ uuid }) => uuid === root);
      for (const { uuid, name } of providers) known.set(uuid, { name, root: top });
    }
  }
  return known;
}

function drawn({ uuid, consumer, providers }) {
  if (!uuid) return notice("This consumer holds nothing: it was deleted, or it never held anything.");
  const held = Object.entries(consumer.allocations);
  const sums = {};
  for (const [, { resources }] of held) {
    for (const [name, value] of Object.entries(resources)) sums[name] = (sums[name] ?? 0) + value;
  }
  const roots = new Set(held.map(([provider]) => providers.get(provider)?.root?.uuid ?? provider));
  return [
    element(
      "section",
      { class: "panel" },
      element("h2", {}, copyable(uuid)),
      element(
        "dl",
        { class: "facts-list" },
        FACTS.map(([label, key]) =>
          element("div", {}, element("dt", {}, label), element("dd", { dir: "auto" }, consumer[key] ?? "–")),
        ),
        element("div", {}, element("dt", {}, "Holds"), element("dd", {}, heldText(sums))),
      ),
    ),
    element(
      "section",
      { class: "panel" },
      element("h2", {}, `On ${count(held.length, "provider")} of ${count(roots.size, "tree")}`),
      wideTable(
        "What it holds where",
        ["Tree", "Provider", "Holds"],
        held.map(([provider, { resources }]) => row(provider, resources, providers.get(provider))),
      ),
    ),
  ];
}

function row(uuid, resources, provider) {
  const { name = uuid, root } = provider ?? {};
  return [root ? toTree(root.uuid, root.name) : "–", toTree(uuid, name), heldText(resources, exactly)];
}
