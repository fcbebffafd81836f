/** A plan: who moves from where to where, and in which order. */

import { drawn, element } from "../dom.js";
import { pairsOf, ranges, takenBy } from "../model/plan.js";
import { count, number, shortened } from "../words.js";
import { wideTable } from "./table.js";
import { heldText } from "./tree.js";

const WIDE = 220;
const BETWEEN = 220;
const ROW = 34;
const BOX = 26;
/** so many lines are drawn; the table has all moves */
const LINES = 60;

/**
 * Return a drawing of moves, and a table of them.
 * @param {Array} moves `{consumer, from, to, allocations, after}` in their order
 * @param {object} links
 * @param {function(string): Node|Array} links.consumer returns what shows a consumer
 * @param {function(string, string): Node} links.tree returns what shows a tree by uuid and name
 */
export function drawPlan(moves, { consumer, tree }) {
  const pairs = pairsOf(moves);
  const places = (some) => some.map(({ root, name }, place) => [place ? ", " : "", tree(root, name)]);
  return [
    element(
      "div",
      { class: "sides", tabindex: 0, role: "group", "aria-label": "From and to" },
      lines(pairs.slice(0, LINES), moves.length),
    ),
    pairs.length > LINES && element("p", { class: "quiet" }, `${count(pairs.length - LINES, "line")} more aren't drawn.`),
    wideTable({
      label: "Moves in their order",
      heads: ["Consumer", "Move", "From", "To", "Takes", "After move"],
      items: moves.map((move, place) => ({ move, place })),
      cells: ({ move, place }) => [
        consumer(move.consumer),
        number(place + 1),
        places(move.from),
        places(move.to),
        heldText(takenBy(move)),
        move.after.length ? ranges(move.after.map((other) => other + 1)) : "–",
      ],
    }),
  ];
}

function lines(pairs, moves) {
  const [left, right] = ["from", "to"].map((side) => new Map(pairs.map((pair) => [pair[side].root, pair[side].name])));
  const height = Math.max(left.size, right.size) * ROW + 24;
  const width = 2 * WIDE + BETWEEN;
  const at = (side, root) => 24 + [...side.keys()].indexOf(root) * ROW + BOX / 2;
  return drawn(
    "svg",
    {
      class: "moves plan",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `${count(moves, "move")} from ${count(left.size, "tree")} to ${count(right.size, "tree")}. The table below has each of them.`,
    },
    drawn("text", { class: "side", x: 0, y: 14 }, "From"),
    drawn("text", { class: "side", x: WIDE + BETWEEN, y: 14 }, "To"),
    pairs.map(({ from, to, numbers }) => line(at(left, from.root), at(right, to.root), numbers)),
    boxes(left, 0),
    boxes(right, WIDE + BETWEEN),
    pairs.map(({ from, to, numbers }) => label(at(left, from.root), at(right, to.root), numbers)),
  );
}

function line(from, to, numbers) {
  const [begin, end, middle] = [WIDE, WIDE + BETWEEN, WIDE + BETWEEN / 2];
  return drawn("path", {
    class: "move",
    d: `M ${begin} ${from} C ${middle} ${from}, ${middle} ${to}, ${end} ${to}`,
    "stroke-width": Math.min(1.5 + Math.log2(numbers.length), 8),
  });
}

/** Labels stand near the arrival, where lines from one place are apart. */
function label(from, to, numbers) {
  return drawn(
    "text",
    { class: "step", x: WIDE + BETWEEN * 0.8, y: from + (to - from) * 0.9 - 4 },
    shortened(ranges(numbers), 14),
    drawn("title", {}, `Move ${ranges(numbers)}`),
  );
}

function boxes(side, x) {
  return [...side.values()].map((name, place) =>
    drawn(
      "g",
      { class: "box", transform: `translate(${x} ${24 + place * ROW})` },
      drawn("rect", { class: "frame", x: 0.5, y: 0.5, width: WIDE - 1, height: BOX - 1, rx: 5 }),
      drawn("text", { class: "name", x: 10, y: 18 }, shortened(name, 26), drawn("title", {}, name)),
    ),
  );
}
