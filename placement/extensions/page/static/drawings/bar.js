/** Bars: how much of a capacity is in use. */

import { drawn, element } from "../dom.js";
import { percent } from "../words.js";

/** Return which of four levels a use has; above `full` it is more than there is. */
export function level(used, capacity) {
  if (used > capacity) return "over";
  if (capacity > 0 && used === capacity) return "full";
  return used >= 0.8 * capacity && capacity > 0 ? "high" : "low";
}

/**
 * Return a bar with its text for readers of screens.
 * @param {number} used
 * @param {number} capacity
 */
export function bar(used, capacity) {
  const whole = Math.max(used, capacity, 1);
  const width = used > 0 ? Math.max((100 * Math.min(used, capacity)) / whole, 1.5) : 0;
  const beyond = Math.max(used - Math.max(capacity, 0), 0);
  return element(
    "span",
    { class: `bar ${level(used, capacity)}`, role: "img", "aria-label": `${percent(used, capacity)} used` },
    drawn(
      "svg",
      { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("rect", { class: "room", width: 100, height: 8 }),
      drawn("rect", { class: "used", width, height: 8 }),
      beyond > 0 &&
        drawn("rect", {
          class: "beyond",
          x: 100 - (100 * beyond) / whole,
          width: (100 * beyond) / whole,
          height: 8,
        }),
    ),
  );
}

/** Return a bar of what passed a step, and beside it of what was lost there, as parts of all. */
export function passed(before, after, total) {
  const part = (value) => (100 * value) / Math.max(total, 1);
  return drawn(
    "svg",
    { class: "passed", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("rect", { class: "room", width: 100, height: 8 }),
    drawn("rect", { class: "lost", width: part(before), height: 8 }),
    drawn("rect", { class: "used", width: part(after), height: 8 }),
  );
}
