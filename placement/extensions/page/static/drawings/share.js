/** What one consumer holds of an inventory, beside what others hold of it. */

import { drawn, element } from "../dom.js";
import { percent } from "../words.js";

/** Return a bar: what one holds, then what others hold, then what is free. */
export function share(own, used, room) {
  const whole = Math.max(used, room, own, 1);
  const part = (value) => (100 * value) / whole;
  return element(
    "span",
    { class: "bar share", role: "img", "aria-label": `${percent(own, room)} held by it, ${percent(used, room)} used in all` },
    drawn(
      "svg",
      { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("rect", { class: "room", width: 100, height: 8 }),
      drawn("rect", { class: "others", width: part(Math.max(used, own)), height: 8 }),
      drawn("rect", { class: "own", width: Math.max(part(own), 1.5), height: 8 }),
    ),
  );
}
