/** A reshape: the trees before and after it side by side, what moves as lines, and the sums. */

import { drawn, element } from "../dom.js";
import { amount, byClass, count, number, shortened } from "../words.js";
import { level } from "./bar.js";
import { drawHost } from "./host.js";
import { addSome, Extent } from "./listed.js";
import { GAP, joined, laidOut, shownOf, sumsByClass, sumsByConsumer } from "./moves.js";
import { wideTable } from "./table.js";
import { heldText } from "./tree.js";

const WIDE = 400;
const BETWEEN = 200;
const TOP = 34;
const BAR = 90;
/** so many are drawn before one asks for more */
const NODES = 20;
const CONSUMERS = 20;
/** so many providers each side of a drawing has, and so many lines are between them */
const PROVIDERS = 200;
const LINES = 500;

/**
 * Return drawings of the nodes of a host: first those that something is wrong with, then those that
 * are reshaped.
 * @param {Array} nodes see `drawReshape`
 * @param {function(string): Node} [consumer] returns what shows a consumer
 */
export function drawReshapes(nodes, consumer) {
  const list = element("ul", { class: "plainly" });
  const rank = (node) => (problems(node, sumsByConsumer(node.moves)).length ? 0 : node.before.length || node.after.length ? 1 : 2);
  const ranked = nodes.map((node) => [rank(node), node]).sort(([one], [other]) => one - other);
  const draw = ([, node]) => element("li", {}, drawReshape(node, consumer));
  addSome(list, ranked, draw, { key: "nodes", step: NODES, extent: new Extent() });
  return list;
}

/**
 * Return a drawing of one node of `migrate_compute_inventory --dry-run --json`.
 * @param {object} node `{node, result, before, after, moves, misfits, error}`
 * @param {function(string): Node} [consumer] returns what shows a consumer
 */
export function drawReshape(node, consumer = (uuid) => element("code", {}, uuid)) {
  const moves = joined(node.moves);
  const consumers = sumsByConsumer(node.moves);
  const shown = shownOf(node, moves, PROVIDERS);
  const trees = node.before.length || node.after.length;
  return element(
    "article",
    { class: "reshape" },
    element("header", {}, element("h2", { dir: "auto" }, node.node), verdict(node, consumers)),
    trees
      ? element(
          "div",
          { class: "sides", tabindex: 0, role: "group", "aria-label": "Before and after" },
          sides(shown, moves.slice(0, LINES)),
        )
      : element("p", { class: "quiet" }, "Nothing of this node is reshaped."),
    shown.left > 0 && element("p", { class: "quiet" }, `${count(shown.left, "provider")} more ${shown.left === 1 ? "isn't" : "aren't"} drawn.`),
    trees > 0 && pictured(node, consumer),
    moves.length > 0 && movesTable(node, moves),
    trees > 0 && classTable(sumsByClass(node)),
    consumers.length > 0 && consumerTable(consumers, consumer),
  );
}

function problems(node, consumers) {
  const lost = consumers.filter(({ keeps }) => !keeps).length;
  return [
    ...node.misfits.map((misfit) => `It doesn't fit: ${misfit}`),
    ...(node.error ? [node.error] : []),
    ...(lost ? [`${count(lost, "consumer")} would not hold what they held.`] : []),
  ];
}

function verdict(node, consumers) {
  const wrong = problems(node, consumers);
  if (wrong.length) {
    return element("ul", { class: "verdict bad" }, wrong.map((text) => element("li", {}, text)));
  }
  const moved = consumers.length;
  const keeps = moved === 1 ? "moves and keeps what it holds" : "move, and each keeps what it holds";
  const text = moved ? `Everything fits. ${count(moved, "consumer")} ${keeps}.` : `${node.result}.`;
  return element("p", { class: "verdict good" }, text);
}

function sides(node, moves) {
  const left = laidOut(node.before);
  const right = laidOut(node.after);
  const height = Math.max(left.height, right.height) + TOP + GAP;
  const width = 2 * WIDE + BETWEEN;
  return drawn(
    "svg",
    {
      class: "moves",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": `Before: ${count(node.before.length, "provider")}. After: ${count(
        node.after.length,
        "provider",
      )}. The tables below say what moves.`,
    },
    drawn("text", { class: "side", x: 0, y: 16 }, "Before"),
    drawn("text", { class: "side", x: WIDE + BETWEEN, y: 16 }, "After"),
    moves.map((move) => line(move, left, right)),
    side(left, 0, others(node.after), "goes"),
    side(right, WIDE + BETWEEN, others(node.before), "comes"),
  );
}

/** Return the host before and after as pictures, drawn once somebody unfolds them. */
function pictured(node, consumer) {
  const place = element("div", { class: "pair" });
  const half = (title, providers) => element("div", {}, element("h3", {}, title), drawHost(providers, { consumer }));
  const unfold = ({ currentTarget: one }) => {
    if (one.open && !place.firstChild) place.append(half("Before", node.before), half("After", node.after));
  };
  return element("details", { class: "sums", toggle: unfold }, element("summary", {}, "The host as a picture, before and after"), place);
}

function others(providers) {
  return new Map(providers.map(({ uuid, inventories }) => [uuid, inventories]));
}

function line(move, left, right) {
  const from = left.places.get(`${move.from} ${move.resource_class}`) ?? left.places.get(move.from);
  const now = move.renamed_to ?? move.resource_class;
  const to = right.places.get(`${move.to} ${now}`) ?? right.places.get(move.to);
  if (from === undefined || to === undefined) return null;
  const [x1, x2] = [WIDE, WIDE + BETWEEN + to.x];
  const [y1, y2] = [from.y + TOP, to.y + TOP];
  const middle = (x1 + x2) / 2;
  return drawn(
    "path",
    {
      class: "move",
      d: `M ${x1} ${y1} C ${middle} ${y1}, ${middle} ${y2}, ${x2} ${y2}`,
      "stroke-width": Math.min(1.5 + Math.log2(move.consumers), 8),
    },
    drawn("title", {}, `${number(move.amount)} ${move.resource_class} of ${count(move.consumers, "consumer")}`),
  );
}

function side({ boxes }, left, elsewhere, mark) {
  return drawn(
    "g",
    { transform: `translate(${left} ${TOP})` },
    boxes.map(({ provider, x, y, height, rows, more }) => {
      const there = elsewhere.get(provider.uuid);
      return drawn(
        "g",
        { class: there ? "box" : `box ${mark}` },
        drawn("rect", { class: "frame", x: x + 0.5, y: y + 0.5, width: WIDE - x - 1, height: height - 1, rx: 5 }),
        drawn(
          "text",
          { class: "name", x: x + 10, y: y + 18 },
          shortened(provider.name, 40 - x / 8),
          drawn("title", {}, provider.name),
        ),
        !there && drawn("text", { class: "mark", x: WIDE - 10, y: y + 18 }, mark === "comes" ? "new" : "removed"),
        rows.map((row) => inventoryRow(row, x, there && !(row.name in there), mark)),
        more > 0 && drawn("text", { class: "rest", x: x + 10, y: y + height - 12 }, `${number(more)} more classes`),
      );
    }),
  );
}

function inventoryRow({ name, used, room, y }, x, differs, mark) {
  const whole = Math.max(used, room, 1);
  const middle = y + 14;
  const at = WIDE - 10 - BAR;
  return drawn(
    "g",
    { class: `row ${level(used, room)} ${differs ? mark : ""}` },
    drawn("text", { class: "class", x: x + 10, y: middle }, shortened(name, 26 - x / 8), drawn("title", {}, name)),
    drawn("text", { class: "amounts", x: at - 8, y: middle }, `${amount(used, name)} / ${amount(room, name)}`),
    drawn("rect", { class: "room", x: at, y: y + 6, width: BAR, height: 9 }),
    drawn("rect", { class: "used", x: at, y: y + 6, width: (BAR * Math.min(used, whole)) / whole, height: 9 }),
  );
}

function movesTable(node, moves) {
  const names = new Map([...node.before, ...node.after].map(({ uuid, name }) => [uuid, name]));
  const named = (uuid) => names.get(uuid) ?? uuid ?? "–";
  return table({
    label: "What moves",
    heads: ["Class", "From", "To", "Amount", "Consumers"],
    items: moves,
    cells: (move) => [
      move.renamed_to ? `${move.resource_class} becomes ${move.renamed_to}` : move.resource_class,
      named(move.from),
      named(move.to),
      amount(move.amount, move.resource_class),
      number(move.consumers),
    ],
    numeric: 2,
  });
}

function classTable(classes) {
  return table({
    label: "Sums by class",
    heads: ["Class", "Capacity before", "after", "Used before", "after", "Same?"],
    items: [...classes].sort((one, other) => byClass(one.name, other.name)),
    cells: ({ name, before, after, room }) => [
      name,
      amount(room.before, name),
      amount(room.after, name),
      amount(before, name),
      amount(after, name),
      before === after && room.before === room.after ? "yes" : "no",
    ],
    numeric: 5,
  });
}

function consumerTable(consumers, shown) {
  return table({
    label: "What consumers hold of it",
    heads: ["Consumer", "Before", "After"],
    items: [...consumers].sort((one, other) => one.keeps - other.keeps),
    cells: ({ name, before, after, keeps }) => [
      shown(name),
      heldText(before) || "nothing",
      keeps && heldText(before) === heldText(after) ? "the same" : heldText(after) || "nothing",
    ],
    step: CONSUMERS,
  });
}

/** Return a section with a table. */
function table(options) {
  return element("section", { class: "sums" }, element("h3", {}, options.label), wideTable(options));
}
