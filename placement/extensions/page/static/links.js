/** Elements that lead to another place, and texts that a click copies. */

import { element, show } from "./dom.js";
import { names } from "./model/names.js";
import { addressOf } from "./place.js";
import { shortened } from "./words.js";

const COPIED = 1500;

/** what was copied a moment ago: its buttons say so, also those that a change draws anew */
let copied = null;

/** Return a button that shows a text and copies it. */
export function copyable(text, label = "uuid") {
  const shown = element("code", {}, text);
  const button = element(
    "button",
    { type: "button", class: "copy", title: `Copy this ${label}`, click: () => copy(text, shown) },
    shown,
  );
  tell(button);
  return button;
}

async function copy(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // only pages over https or on this machine may use the clipboard: the text is marked instead
    getSelection().selectAllChildren(shown);
    return;
  }
  remember(text);
  setTimeout(() => copied === text && remember(null), COPIED);
}

/** Return a button that copies a text; where that isn't allowed, it marks the element of it. */
export function copyText(label, text, shown) {
  const button = element("button", { type: "button", class: "plain", click: () => go() }, label);
  async function go() {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(shown);
      return;
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), COPIED);
  }
  return button;
}

function remember(text) {
  copied = text;
  for (const button of document.querySelectorAll(".copy")) tell(button);
}

function tell(button) {
  const text = button.textContent;
  button.classList.toggle("copied", text === copied);
  if (text === copied) button.setAttribute("aria-label", `${text} copied`);
  else button.removeAttribute("aria-label");
}

/** Return a link to a tree, with its name. */
export function toTree(uuid, name, most = 60) {
  return element(
    "a",
    { href: addressOf("trees", [uuid]), dir: "auto", title: name.length > most && name },
    shortened(name, most),
  );
}

/** the address of the operator's dashboard of a tree, with {name} and {uuid} for what it is of */
let dashboard = null;

/** Use the template of the service from now on; what isn't http or https leads nowhere. */
export function useDashboard(template) {
  dashboard = typeof template === "string" && /^https?:\/\//.test(template) ? template : null;
}

/** Return a link to the operator's dashboard of a tree; null if there is none. */
export function toDashboard(uuid, name) {
  if (!dashboard) return null;
  const values = { name, uuid };
  const href = dashboard.replaceAll(/\{(name|uuid)\}/g, (_, key) => encodeURIComponent(values[key]));
  return element("a", { href, target: "_blank", rel: "noopener noreferrer" }, "Dashboard of this tree");
}

/** Return a link to a consumer, with its uuid. */
export function toConsumer(uuid) {
  return element("a", { href: addressOf("consumer", [uuid]) }, element("code", {}, uuid));
}

/** Return a link to a consumer, with its project in a line below; without one if that isn't known. */
export function toOwned(uuid, project) {
  return [toConsumer(uuid), project && [element("br"), element("span", { class: "quiet" }, "of "), named("projects", project)]];
}

/** Return a link to the hosts of an aggregate, with its uuid and its name. */
export function toAggregate(uuid) {
  return named("aggregates", uuid, addressOf("cloud", [], new URLSearchParams({ aggregate: uuid })));
}

/** what shows ids → what draws it anew; names may come later than the rest */
const drawers = new WeakMap();

/** Return what shows an id, that a click copies, beside the operator's name for it. */
export function named(kind, id, href = null) {
  const node = element("span", { class: "named" });
  const link = (...texts) => (href ? element("a", { href, dir: "auto" }, ...texts) : element("bdi", {}, ...texts));
  drawers.set(node, () => {
    const name = names.of(kind, id);
    if (name) show(node, link(shortened(name, 60)), " ", copyable(id, "id"));
    else show(node, href ? link(element("code", {}, id)) : copyable(id, "id"));
  });
  drawers.get(node)();
  return node;
}

const UUID = /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})\b/;

/** Return what shows a text of the service: names stand beside the ids in it that have one, and `commands` are code. */
export function withNames(text) {
  const node = element("span", { class: "with-names" });
  const kindOf = (id) => ["aggregates", "projects", "users"].find((kind) => names.of(kind, id));
  const plain = (some) => some.split(UUID).map((part, place) => (place % 2 && kindOf(part) ? named(kindOf(part), part) : part));
  drawers.set(node, () => show(node, text.split(/`([^`]+)`/).map((part, place) => (place % 2 ? element("code", {}, part) : plain(part)))));
  drawers.get(node)();
  return node;
}

names.addEventListener("change", () => {
  for (const node of document.querySelectorAll(".with-names, .named")) drawers.get(node)?.();
});

/** Return a message of what went wrong, with what to do about it. */
export function failure(error, then) {
  return element("p", { class: "notice bad", role: "alert" }, reasonOf(error), then && [" ", then]);
}

/** Return what went wrong, as people say it: the browser's own words are about the page's code. */
export function reasonOf(error) {
  const isOfCode = error instanceof TypeError || error instanceof RangeError;
  return isOfCode ? "The answer lacks what this page needs. Something else than the service may have sent it." : error.message;
}

/** Show in a node how far the trees are read. Readers of screens hear of it once. */
export function tellReading(node, { part }, ...above) {
  let bar = node.querySelector("progress");
  if (!bar) {
    bar = element("progress", { max: 1, "aria-label": "Part of the trees that was read" });
    show(node, above, element("span", { class: "quiet" }, "The trees are being read. "), bar);
  }
  if (part === null) bar.removeAttribute("value");
  else bar.value = part;
}

/** Return what a view says while, and where, there is nothing to show. */
export function notice(...texts) {
  return element("p", { class: "notice" }, ...texts);
}
