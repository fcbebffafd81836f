/** The use of a class in the last hour, as a line. */

import { drawn, element } from "../dom.js";
import { KEPT_FOR } from "../model/trend.js";
import { count, percent } from "../words.js";

/** Return the line of `[[milliseconds ago, part], …]`, the oldest first; a dash for less than two. */
export function trendLine(points) {
  if (points.length < 2) return element("span", { class: "quiet" }, "–");
  const parts = points.map(([, part]) => part);
  const [least, most] = [Math.min(...parts), Math.max(...parts)];
  // a change of less than a twentieth of all isn't drawn as if it were large
  const middle = (least + most) / 2;
  const half = Math.max((most - least) / 2, 0.025);
  const place = ([ago, part]) => `${100 - (100 * ago) / KEPT_FOR},${(10 - (8 * (part - middle)) / half).toFixed(2)}`;
  const minutes = Math.max(Math.round(points[0][0] / 60_000), 1);
  const told = `${percent(parts[0], 1)} ${count(minutes, "minute")} ago, now ${percent(parts.at(-1), 1)}`;
  return element(
    "span",
    { class: "trend", role: "img", "aria-label": told, title: told },
    drawn(
      "svg",
      { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" },
      drawn("polyline", { points: points.map(place).join(" ") }),
    ),
  );
}
