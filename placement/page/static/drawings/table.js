/** Tables that scroll sideways where they are wider than their place. */

import { element } from "../dom.js";

/**
 * Return a table.
 * @param {string} label what it is, for readers of screens
 * @param {Array<string>} heads
 * @param {Array<Array<Node|string>>} rows
 * @param {number} [numeric] how many of the last columns are numbers
 */
export function wideTable(label, heads, rows, numeric = 0) {
  const kind = (column) => (column >= heads.length - numeric ? { class: "number" } : {});
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
      element(
        "tbody",
        {},
        rows.map((cells) =>
          element("tr", {}, cells.map((cell, column) => element("td", { dir: column ? null : "auto", ...kind(column) }, cell))),
        ),
      ),
    ),
  );
}
