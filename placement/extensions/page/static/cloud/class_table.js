/** The sums of each resource class: a table in which one of them is chosen. */

import { bar, level } from "../drawings/bar.js";
import { element } from "../dom.js";
import { amount, count, isSize, number, percent } from "../words.js";
import { trendLine } from "./trend_line.js";

const HEADS = ["Class", "", "Used", "Free", "Capacity", "Total", "Reserved", "Over", "Last hour"];

/**
 * Return the table.
 * @param {Array<string>} names of the classes, in their order
 * @param {Map} sums class → amounts
 * @param {Trend} trend of the whole cloud; null: the sums are of a part of it
 * @param {string} chosen
 * @param {function(string): void} choose
 */
export function classTable(names, sums, trend, chosen, choose) {
  return element(
    "div",
    { class: "wide", tabindex: 0, role: "group", "aria-label": "Resource classes" },
    element(
      "table",
      { class: "classes" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          HEADS.map((head, column) => element(head ? "th" : "td", { scope: head ? "col" : null, class: column > 1 && "number" }, head)),
        ),
      ),
      element("tbody", {}, names.map((name) => row(name, sums.get(name), trend, name === chosen, choose))),
    ),
  );
}

function row(name, one, trend, isChosen, choose) {
  const figure = (label, value, ...more) =>
    element("td", { class: "number", "data-label": label }, amount(value, name), more, isSize(name) && value > 0 && element("small", {}, number(value)));
  return element(
    "tr",
    { class: level(one.used, one.capacity) },
    element(
      "th",
      { scope: "row" },
      element("button", { type: "button", class: "choice", "aria-pressed": String(isChosen), click: () => choose(name) }, name),
    ),
    element("td", { class: "wide-bar" }, bar(one.used, one.capacity)),
    figure("Used", one.used, ` · ${percent(one.used, one.capacity)}`),
    figure("Free", Math.max(one.capacity - one.used, 0)),
    figure("Capacity", one.capacity),
    figure("Total", one.total),
    figure("Reserved", one.reserved),
    element("td", { class: one.over ? "number bad" : "number quiet", "data-label": "Over" }, one.over ? count(one.over, "inventory", "inventories") : "–"),
    element("td", { class: "number", "data-label": "Last hour" }, trendLine(trend?.of(name) ?? [])),
  );
}
