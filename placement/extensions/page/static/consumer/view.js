/** What does this consumer hold, and where? */

import { Asking } from "../asking.js";
import { element } from "../dom.js";
import { share } from "../drawings/share.js";
import { roomOf } from "../drawings/provider.js";
import { wideTable } from "../drawings/table.js";
import { heldText } from "../drawings/tree.js";
import { copyable, named, notice, toTree } from "../links.js";
import { addressOf, lead } from "../place.js";
import { askMore } from "../session.js";
import { amount, byClass, count, exactly, mayBeUuid } from "../words.js";
import { suspected, suspectsOf, told } from "./about.js";

const plain = (value) => value ?? "–";
const called = (kind) => (value) => (value ? named(kind, value) : "–");
const FACTS = [
  ["Type", "consumer_type", plain],
  ["Project", "project_id", called("projects")],
  ["User", "user_id", called("users")],
  ["Generation", "consumer_generation", plain],
];
/** uuids in one request */
const MOST_UUIDS = 100;

export function consumerView(place, live) {
  live.watch();
  const input = element("input", { spellcheck: "false", autocomplete: "off", required: true });
  const found = element("div");
  const asking = new Asking(found);
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
          const wanted = input.value.trim();
          lead(addressOf("consumer", [wanted]), () => look(wanted));
        },
      },
      element("label", { class: "field" }, element("span", {}, "Uuid of a server or another consumer"), input),
      element("button", { class: "go" }, "Show what it holds"),
    ),
    found,
  );

  function look(wanted) {
    if (!wanted || !mayBeUuid(wanted)) {
      const wrong = wanted ? `“${wanted}” is no uuid. ` : "";
      asking.say(wrong, "The uuid of a server is in the output of ", element("code", {}, "openstack server list"), ".");
      return;
    }
    asking.show((signal) => read(wanted, live.stories, signal), drawn);
  }

  function go({ path: [wanted = ""] }) {
    input.value = wanted;
    look(wanted);
    return true;
  }

  go(place);
  return asking.view("Consumer", node, go);
}

/** Return what is known of a consumer; `uuid` is undefined if it holds nothing. */
async function read(wanted, stories, signal) {
  const [{ consumers }, suspects] = await Promise.all([
    askMore("allocations/query", { signal, body: { consumers: [wanted] } }),
    suspectsOf(wanted.toLowerCase(), signal),
  ]);
  const [uuid] = Object.keys(consumers);
  const consumer = consumers[uuid];
  const story = stories.take(wanted.toLowerCase(), consumer?.allocations ?? {});
  const wants = [...Object.keys(consumer?.allocations ?? {}), ...story.changes.map(({ provider }) => provider)];
  const providers = await providersOf([...new Set(wants)], signal);
  return { uuid, consumer, providers, suspects, story };
}

/** Return provider uuid → `{name, root, inventories, usages}`, with `root` of its tree. */
async function providersOf(uuids, signal) {
  const known = new Map();
  for (let begin = 0; begin < uuids.length; begin += MOST_UUIDS) {
    const some = uuids.slice(begin, begin + MOST_UUIDS).join(",");
    const { trees } = await askMore(`provider_trees?fields=inventories,usages&uuid=in:${some}`, { signal });
    for (const { root, providers } of trees) {
      const top = providers.find(({ uuid }) => uuid === root);
      for (const { uuid, name, inventories, usages } of providers) {
        known.set(uuid, { name, root: { uuid: top?.uuid, name: top?.name }, inventories, usages });
      }
    }
  }
  return known;
}

function drawn({ uuid, consumer, providers, suspects, story }) {
  const about = [suspected(suspects), told(story, providers)];
  if (!uuid) {
    const nothing = notice("This consumer holds nothing: it was deleted, or it never held anything.");
    return [nothing, story.changes.length > 0 && about];
  }
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
        FACTS.map(([label, key, shown]) =>
          element("div", {}, element("dt", {}, label), element("dd", { dir: "auto" }, shown(consumer[key]))),
        ),
        element("div", {}, element("dt", {}, "Holds"), element("dd", {}, heldText(sums))),
      ),
    ),
    element(
      "section",
      { class: "panel" },
      element("h2", {}, `On ${count(held.length, "provider")} of ${count(roots.size, "tree")}`),
      wideTable({
        label: "What it holds where",
        heads: ["Provider", "Holds"],
        items: held,
        cells: ([provider, { resources }]) => row(provider, resources, providers.get(provider)),
      }),
    ),
    about,
  ];
}

function row(uuid, resources, provider) {
  const { name = uuid, root } = provider ?? {};
  const tree = root?.uuid && root.uuid !== uuid && [" of ", toTree(root.uuid, root.name)];
  return [[toTree(uuid, name), tree], [heldText(resources, exactly), provider && shares(resources, provider)]];
}

/** Return a bar for each class: what it holds of the provider, beside what others hold. */
function shares(resources, { inventories = {}, usages = {} }) {
  const names = Object.keys(resources).sort(byClass);
  return element(
    "ul",
    { class: "shares" },
    names.map((name) => {
      const [used, room] = [usages[name] ?? 0, roomOf(inventories[name])];
      return element("li", {}, share(resources[name], used, room), element("span", { class: "quiet" }, `${amount(used, name)} of ${amount(room, name)} ${name} used`));
    }),
  );
}
