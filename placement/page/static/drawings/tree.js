/** A provider tree: each provider with its bars, traits, aggregates and holders. */

import { element } from "../dom.js";
import { byClass, count, exactly, amount, number, percent } from "../words.js";
import { bar, level } from "./bar.js";
import { family, stockOf } from "./provider.js";

/** so many children, traits and holders are drawn before one asks for more */
const CHILDREN = 100;
const TRAITS = 12;
const HOLDERS = 20;

/**
 * Return a list that shows the providers as trees.
 * @param {Array} providers see provider.js
 * @param {object} [links] how names lead elsewhere
 * @param {function(string): Node} [links.uuid] returns what shows the uuid of a provider
 * @param {function(string): Node} [links.consumer] returns what shows a consumer
 * @param {function(string): Node} [links.aggregate] returns what shows an aggregate
 * @param {string} [links.chosen] uuid of the provider to mark
 */
export function drawTree(providers, links = {}) {
  const known = family(providers);
  const plain = (text) => element("code", {}, text);
  return branches(known.roots, known.children, {
    uuid: plain,
    consumer: plain,
    aggregate: plain,
    ...links,
  });
}

function branches(providers, children, links) {
  const list = element("ul", { class: "tree" });
  addSome(list, providers, CHILDREN, (provider) =>
    element(
      "li",
      {},
      card(provider, links),
      children.has(provider.uuid) && branches(children.get(provider.uuid), children, links),
    ),
  );
  return list;
}

/** Append items, and while there are more a button that appends the next ones. */
function addSome(list, all, most, draw) {
  const some = all.slice(0, most);
  const rest = all.slice(most);
  list.append(...some.map(draw));
  if (!rest.length) return;
  const more = element("li", { class: "more" });
  more.append(
    element(
      "button",
      {
        type: "button",
        class: "plain",
        click: () => {
          const before = list.children.length - 1;
          more.remove();
          addSome(list, rest, most, draw);
          list.children[before]?.querySelector("button, a")?.focus();
        },
      },
      `Show ${number(Math.min(most, rest.length))} of ${number(rest.length)} more`,
    ),
  );
  list.append(more);
}

function card(provider, links) {
  const chosen = provider.uuid === links.chosen;
  const isNew = provider.generation === null || provider.generation === undefined;
  return element(
    "article",
    { class: chosen ? "provider chosen" : "provider", "aria-current": chosen && "true" },
    element(
      "header",
      {},
      element("h2", { dir: "auto" }, provider.name),
      element(
        "p",
        { class: "facts" },
        isNew ? "new" : [links.uuid(provider.uuid), element("span", {}, `generation ${provider.generation}`)],
      ),
    ),
    stock(provider),
    traits(provider.traits),
    said("Aggregates", provider.aggregates.map((uuid) => links.aggregate(uuid))),
    holders(provider, links),
  );
}

function stock(provider) {
  const rows = stockOf(provider);
  if (!rows.length) return null;
  return element(
    "ul",
    { class: "stock", "aria-label": "Inventories" },
    rows.map(({ name, inventory, used, room }) =>
      element(
        "li",
        { class: level(used, room) },
        element("span", { class: "class" }, name),
        bar(used, room),
        element(
          "span",
          { class: "amounts" },
          element("strong", {}, amount(used, name)),
          ` of ${amount(room, name)} used`,
          element("span", { class: "share" }, percent(used, room)),
        ),
        element("span", { class: "detail" }, details(inventory, name)),
      ),
    ),
  );
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
  return element(
    "div",
    { class: "said" },
    element("h3", {}, "Traits"),
    element(
      "div",
      {},
      chips(sorted.slice(0, TRAITS)),
      sorted.length > TRAITS &&
        element(
          "details",
          {},
          element("summary", {}, `${number(sorted.length - TRAITS)} more`),
          chips(sorted.slice(TRAITS)),
        ),
    ),
  );
}

function said(what, values) {
  if (!values.length) return null;
  return element(
    "div",
    { class: "said" },
    element("h3", {}, what),
    element("ul", { class: "values" }, values.map((value) => element("li", {}, value))),
  );
}

function holders(provider, links) {
  const held = Object.entries(provider.allocations ?? {});
  if (!held.length) return null;
  const list = element("ul", { class: "holders" });
  addSome(list, held.sort(), HOLDERS, ([consumer, amounts]) =>
    element(
      "li",
      {},
      links.consumer(consumer),
      element("span", { class: "amounts" }, heldText(amounts)),
    ),
  );
  return element(
    "div",
    { class: "said" },
    element("h3", {}, `Held by ${count(held.length, "consumer")}`),
    list,
  );
}

/** Return amounts as text: `2 VCPU, 4 GiB MEMORY_MB`. */
export function heldText(amounts) {
  return Object.keys(amounts)
    .sort(byClass)
    .map((name) => `${amount(amounts[name], name)} ${name}`)
    .join(", ");
}
