/** A provider tree: each provider with its bars, traits, aggregates and holders. */

import { element } from "../dom.js";
import { byClass, count, exactly, amount, number, percent } from "../words.js";
import { bar, level } from "./bar.js";
import { addSome, Extent } from "./listed.js";
import { DEEPEST, family, stockOf, withAllBelow } from "./provider.js";

/** so many are drawn before one asks for more */
const CHILDREN = 100;
const CLASSES = 40;
const TRAITS = 12;
const AGGREGATES = 20;
const HOLDERS = 20;

/**
 * Return a list that shows the providers as trees.
 * @param {Array} providers see provider.js
 * @param {object} [links] how names lead elsewhere
 * @param {function(string): Node} [links.uuid] returns what shows the uuid of a provider
 * @param {function(string): Node} [links.consumer] returns what shows a consumer
 * @param {function(string): Node} [links.aggregate] returns what shows an aggregate
 * @param {string} [links.chosen] uuid of the provider to mark
 * @param {Extent} [links.extent] how much was drawn before
 */
export function drawTree(providers, links = {}) {
  const known = family(providers);
  const plain = (text) => element("code", {}, text);
  const extent = links.extent ?? new Extent();
  extent.begin();
  return branches(known.roots, "", {
    uuid: plain,
    consumer: plain,
    aggregate: plain,
    ...links,
    extent,
    children: known.children,
    names: new Map(providers.map(({ uuid, name }) => [uuid, name])),
    path: pathTo(links.chosen, providers),
    isLarge: providers.length > CHILDREN,
  });
}

/** Return the uuids of a provider and of all above it. */
function pathTo(chosen, providers) {
  const parents = new Map(providers.map(({ uuid, parent_provider_uuid: parent }) => [uuid, parent]));
  const path = new Set();
  for (let uuid = chosen; parents.has(uuid) && !path.has(uuid); uuid = parents.get(uuid)) path.add(uuid);
  return path;
}

function branches(providers, parent, links, depth = 0) {
  const { children, path, isLarge, extent } = links;
  const list = element("ul", { class: "tree" });
  // what is deeper stands in the last list, and names its parent
  const isLast = depth === DEEPEST;
  const all = isLast ? withAllBelow(providers, children) : providers;
  // of a tree that isn't drawn whole, what was asked for comes first, and what is above it
  const isAsked = ({ uuid }) => isLarge && path.has(uuid);
  const sorted = [...all.filter(isAsked), ...all.filter((provider) => !isAsked(provider))];
  const draw = (provider) =>
    element(
      "li",
      {},
      card(provider, isLast && provider.parent_provider_uuid !== parent, links),
      !isLast &&
        children.has(provider.uuid) &&
        branches(children.get(provider.uuid), provider.uuid, links, depth + 1),
    );
  addSome(list, sorted, draw, { key: `below ${parent}`, step: CHILDREN, extent });
  return list;
}

function card(provider, isDeep, links) {
  const chosen = provider.uuid === links.chosen;
  const isNew = provider.generation === null || provider.generation === undefined;
  return element(
    "article",
    {
      class: chosen ? "provider chosen" : "provider",
      "aria-current": chosen && "true",
      "data-key": provider.uuid,
    },
    element(
      "header",
      {},
      element("h2", { dir: "auto" }, provider.name),
      element(
        "p",
        { class: "facts" },
        isNew ? "new" : [links.uuid(provider.uuid), element("span", {}, `generation ${provider.generation}`)],
        isDeep && element("span", { dir: "auto" }, `below ${links.names.get(provider.parent_provider_uuid)}`),
      ),
    ),
    stock(provider, links),
    traits(provider.traits),
    aggregates(provider, links),
    holders(provider, links),
  );
}

function stock(provider, { extent }) {
  const rows = stockOf(provider);
  if (!rows.length) return null;
  const list = element("ul", { class: "stock", "aria-label": "Inventories" });
  const draw = ({ name, inventory, used, room }) =>
    element(
      "li",
      { class: level(used, room) },
      element("span", { class: "class" }, name),
      bar(used, room),
      element(
        "span",
        { class: "amounts" },
        element("strong", { title: exactly(used, name) }, amount(used, name)),
        ` of ${amount(room, name)} used`,
        element("span", { class: "share" }, percent(used, room)),
      ),
      element("span", { class: "detail" }, details(inventory, name)),
    );
  addSome(list, rows, draw, { key: `classes of ${provider.uuid}`, step: CLASSES, extent });
  return list;
}

function details(inventory, name) {
  if (!inventory) return "no inventory";
  const { total, reserved = 0, allocation_ratio: ratio = 1 } = inventory;
  const told = [`total ${exactly(total, name)}`];
  if (reserved) told.push(`reserved ${amount(reserved, name)}`);
  if (ratio !== 1) told.push(`ratio ${ratio}`);
  if (inventory.step_size > 1) told.push(`steps of ${amount(inventory.step_size, name)}`);
  if (inventory.min_unit > 1) told.push(`at least ${amount(inventory.min_unit, name)}`);
  if (inventory.max_unit < total) told.push(`at most ${amount(inventory.max_unit, name)} each`);
  return told.join(", ");
}

function traits(names) {
  if (!names.length) return null;
  const chips = (some) =>
    element("ul", { class: "chips" }, some.map((name) => element("li", {}, name)));
  const own = names.filter((name) => name.startsWith("CUSTOM_"));
  const sorted = [...own, ...names.filter((name) => !name.startsWith("CUSTOM_"))];
  const rest = sorted.slice(TRAITS);
  const unfold = ({ currentTarget: one }) => {
    if (one.open && one.children.length === 1) one.append(chips(rest));
  };
  return element(
    "div",
    { class: "said" },
    element("h3", {}, "Traits"),
    element(
      "div",
      {},
      chips(sorted.slice(0, TRAITS)),
      rest.length > 0 &&
        element("details", { toggle: unfold }, element("summary", {}, `${number(rest.length)} more`)),
    ),
  );
}

function aggregates(provider, links) {
  if (!provider.aggregates.length) return null;
  const list = element("ul", { class: "values" });
  addSome(list, [...provider.aggregates].sort(), (uuid) => element("li", {}, links.aggregate(uuid)), {
    key: `aggregates of ${provider.uuid}`,
    step: AGGREGATES,
    extent: links.extent,
  });
  return element("div", { class: "said" }, element("h3", {}, "Aggregates"), list);
}

function holders(provider, links) {
  const held = Object.entries(provider.allocations ?? {});
  if (!held.length) return null;
  const list = element("ul", { class: "holders" });
  const draw = ([consumer, amounts]) =>
    element(
      "li",
      {},
      links.consumer(consumer),
      element("span", { class: "amounts" }, heldText(amounts)),
    );
  addSome(list, held.sort(), draw, { key: `holders of ${provider.uuid}`, step: HOLDERS, extent: links.extent });
  return element(
    "div",
    { class: "said" },
    element("h3", {}, `Held by ${count(held.length, "consumer")}`),
    list,
  );
}

/** Return amounts as text: `2 VCPU, 4 GiB MEMORY_MB`. */
export function heldText(amounts, told = amount) {
  return Object.keys(amounts)
    .sort(byClass)
    .map((name) => `${told(amounts[name], name)} ${name}`)
    .join(", ");
}
