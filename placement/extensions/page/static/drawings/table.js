/** Tables that scroll sideways where they are wider than their place. */

import { element } from "../dom.js";
import { addSome, Extent } from "./listed.js";

/**
 * Return a table.
 * @param {object} options
 * @param {string} options.label what it is, for readers of screens
 * @param {Array<string>} options.heads
 * @param {Array} options.items what the rows are of
 * @param {function(unknown): Array<Node|string>} options.cells returns what a row says of its item
 * @param {number} [options.numeric] how many of the last columns are numbers
 * @param {number} [options.step] so many rows come at once
 * @param {Extent} [options.extent] how much was drawn before
 */
export function wideTable({ label, heads, items, cells, numeric = 0, step = 100, extent = new Extent() }) {
  const kind = (column) => (column >= heads.length - numeric ? { class: "number" } : {});
  const body = element("tbody");
  const draw = (item) =>
    element("tr", {}, cells(item).map((cell, column) => element("td", { dir: column ? null : "auto", ...kind(column) }, wrapped(cell))));
  const more = (button) => element("tr", { class: "more" }, element("td", { colspan: heads.length }, button));
  addSome(body, items, draw, { key: label, step, extent, more });
  return element(
    "div",
    { class: "wide", tabindex: 0, role: "group", "aria-label": label },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element("tr", {}, heads.map((head, column) => element("th", { scope: "col", ...kind(column) }, head))),
      ),
      body,
    ),
  );
}

/** Return what a cell says. Words are as long as a uuid or shorter, or else break anywhere. */
function wrapped(cell) {
  const all = element("span", {}, cell);
  if (/^\S{1,36}$/.test(all.textContent)) all.className = "word";
  else if (!/\S{37}/.test(all.textContent)) all.className = "words";
  return all;
}
