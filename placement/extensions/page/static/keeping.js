/** Redraw what somebody reads without taking them away from where they are. */

import { onceLetGo } from "./pressing.js";

const STOPS = "a, button, summary, select, input, details, [tabindex]";

/**
 * Redraw a part of the page. The focus, what is unfolded, and how far wide tables are scrolled stay
 * with what they belong to, also where it stands elsewhere now. If what had the focus is gone, the
 * focus goes to what else belongs to the same thing, or else to the part itself.
 *
 * Things are told apart by the attribute `data-key` around them, such as the uuid of a provider.
 */
export function keeping(part, redraw) {
  onceLetGo(part, () => redrawn(part, redraw));
}

function redrawn(part, redraw) {
  const before = stops(part);
  const focused = before.find(({ node }) => node === document.activeElement);
  const unfolded = before.filter(({ node }) => node.open);
  const scrolled = before
    .filter(({ node }) => node.scrollLeft)
    .map((stop) => ({ ...stop, left: stop.node.scrollLeft }));
  redraw();
  if (!focused && !unfolded.length && !scrolled.length) return;
  const now = stops(part);
  const same = (stop) => now.find(({ name }) => name === stop.name)?.node;
  for (const stop of unfolded) same(stop)?.setAttribute("open", "");
  for (const stop of scrolled) same(stop)?.scrollTo({ left: stop.left });
  if (!focused || part.contains(document.activeElement)) return;
  const next = same(focused) ?? now.find(({ key, node }) => key && key === focused.key && node.tabIndex >= 0)?.node;
  if (!next) part.tabIndex = -1;
  (next ?? part).focus({ preventScroll: true });
}

/** Return `[{node, key, name}]`: names say what a node is of, and which one of several alike. */
function stops(part) {
  const counts = new Map();
  return [...part.querySelectorAll(STOPS)].map((node) => {
    const key = node.closest("[data-key]")?.dataset.key ?? "";
    const what = node.getAttribute("href") ?? (node.tagName === "DETAILS" ? "" : label(node));
    const kind = [key, node.tagName, what].join("\n");
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return { node, key, name: `${kind}\n${counts.get(kind)}` };
  });
}

/** Return what a node says of itself. */
function label(node) {
  if (node.tagName === "CANVAS") return "";
  return node.getAttribute("role") === "group" ? node.getAttribute("aria-label") : node.textContent;
}
