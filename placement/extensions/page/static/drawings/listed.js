/** Lists of any length: some items are drawn, and a button draws the next ones. */

import { element } from "../dom.js";
import { number } from "../words.js";

/** so many items are drawn at once, of all lists of a drawing together */
const MOST = 600;

/** How much of a drawing is drawn. Keep it to draw the same again after a change. */
export class Extent {
  /** @param {number} [most] so many items are drawn at once */
  constructor(most = MOST) {
    this.most = most;
    this.left = most;
    /** list → how many of its items were asked for */
    this.shown = new Map();
  }

  /** Begin a drawing, or draw more of it. */
  begin() {
    this.left = this.most;
  }
}

/**
 * Append items to a list, and while there are more a button that appends the next ones.
 * @param {Element} list
 * @param {Array} all
 * @param {function(unknown): Element} draw returns the `li` of an item
 * @param {object} options
 * @param {string} options.key tells this list from the others of the drawing
 * @param {number} options.step so many items come at once
 * @param {Extent} options.extent
 * @param {function(Element): Element} [options.more] returns the item that the button stands in, of
 *   the class `more`
 */
export function addSome(list, all, draw, { key, step, extent, more = item }) {
  let drawn = 0;
  const add = (most, asked) => {
    while (drawn < Math.min(most, all.length) && (drawn < asked || extent.left > 0)) {
      extent.left -= 1;
      list.append(draw(all[drawn]));
      drawn += 1;
    }
    if (drawn < all.length) list.append(more(next()));
  };
  const next = () => {
    const from = drawn;
    const rest = all.length - from;
    const go = (event) => {
      event.currentTarget.closest(".more").remove();
      extent.begin();
      add(from + step, from + 1);
      // whoever sees all sees what comes to it, too
      extent.shown.set(key, drawn < all.length ? drawn : Infinity);
      const first = list.children[from];
      const target = first.querySelector("a, button") ?? first;
      if (target === first) first.tabIndex = -1;
      target.focus();
    };
    const text = `Show ${number(Math.min(step, rest))} of ${number(rest)} more`;
    return element("button", { type: "button", class: "plain", click: go }, text);
  };
  const asked = extent.shown.get(key) ?? 0;
  add(Math.max(step, asked), asked);
}

function item(button) {
  return element("li", { class: "more" }, button);
}
