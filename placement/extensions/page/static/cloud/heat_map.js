/** A map of trees: a square each, darker where more is in use. Drawn on a canvas: they are many. */

import { element, show } from "../dom.js";
import { addressOf } from "../place.js";
import { amount, count, number, percent } from "../words.js";

const TALLEST = 320;
const SMALLEST = 4;
const LARGEST = 28;
/** upper ends of the shares that have one colour; above the last one it is over capacity */
export const SHARES = [0, 0.25, 0.5, 0.8, 1];
const LABELS = ["none", "to 25 %", "to 50 %", "to 80 %", "to 100 %", "over capacity"];

/**
 * Return which colour a use has: a number from 0, `SHARES.length` if more is used than there is, be
 * it of one provider of several.
 */
export function shade({ used, capacity, over }) {
  if (over || used > capacity) return SHARES.length;
  if (used === 0) return 0;
  return SHARES.findIndex((most) => used <= most * capacity);
}

export class HeatMap {
  constructor() {
    this.trees = [];
    this.canvas = element("canvas", {
      class: "map",
      role: "img",
      mousemove: (event) => this.tell(this.at(event)),
      mouseleave: () => this.tell(null),
      click: (event) => this.open(this.at(event)),
    });
    this.told = element("p", { class: "told quiet" });
    this.node = element("div", { class: "heat" }, this.canvas, legend(), this.told);
    this.width = new ResizeObserver(() => this.draw());
    this.width.observe(this.node);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.draw();
    this.scheme.addEventListener("change", this.repaint);
  }

  /** Show trees `{uuid, name, sums}`, in this order. */
  set(trees, resourceClass) {
    this.trees = trees;
    this.resourceClass = resourceClass;
    const over = trees.filter(({ sums }) => sums.over).length;
    const full = trees.filter(({ sums }) => !sums.over && sums.used > 0 && sums.used >= sums.capacity).length;
    const unused = trees.filter(({ sums }) => sums.used === 0).length;
    this.canvas.setAttribute(
      "aria-label",
      `Of ${count(trees.length, "tree")}, ${number(unused)} unused, ${number(full)} full and ` +
        `${number(over)} over capacity. The list of the fullest has the same trees.`,
    );
    this.tell(null);
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    this.canvas.hidden = !this.trees.length;
    if (!width || !this.trees.length) return;
    const area = Math.sqrt((width * TALLEST) / this.trees.length);
    this.cell = Math.max(Math.min(Math.floor(area), LARGEST), SMALLEST);
    this.columns = Math.max(Math.floor(width / this.cell), 1);
    const height = Math.ceil(this.trees.length / this.columns) * this.cell;
    const scale = devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    this.canvas.style.height = `${height}px`;
    const paint = this.canvas.getContext("2d");
    paint.scale(scale, scale);
    const style = getComputedStyle(this.node);
    const colours = [...LABELS.keys()].map((place) => style.getPropertyValue(`--heat-${place}`));
    const gap = this.cell > 8 ? 2 : 1;
    this.trees.forEach(({ sums }, place) => {
      const x = (place % this.columns) * this.cell;
      const y = Math.floor(place / this.columns) * this.cell;
      const side = this.cell - gap;
      const shaded = shade(sums);
      paint.fillStyle = colours[shaded];
      paint.fillRect(x, y, side, side);
      if (shaded < SHARES.length) return;
      // a mark besides the colour
      paint.lineWidth = gap;
      paint.strokeStyle = style.getPropertyValue("--paper");
      paint.beginPath();
      paint.moveTo(x, y + side);
      paint.lineTo(x + side, y);
      paint.stroke();
    });
  }

  at(event) {
    const column = Math.floor(event.offsetX / this.cell);
    if (column >= this.columns) return null;
    return this.trees[Math.floor(event.offsetY / this.cell) * this.columns + column] ?? null;
  }

  tell(tree) {
    this.canvas.classList.toggle("pointing", tree !== null);
    if (!tree) {
      show(this.told, "Point at a square to see which tree it is; click to open it.");
      return;
    }
    const { used, capacity, over } = tree.sums;
    const what = `${amount(used, this.resourceClass)} of ${amount(capacity, this.resourceClass)} used`;
    const more = over ? ", over capacity" : "";
    show(this.told, element("strong", { dir: "auto" }, tree.name), ` ${what}, ${percent(used, capacity)}${more}`);
  }

  open(tree) {
    if (tree) location.hash = addressOf("trees", [tree.uuid]);
  }

  close() {
    this.width.disconnect();
    this.scheme.removeEventListener("change", this.repaint);
  }
}

function legend() {
  return element(
    "ul",
    { class: "legend", "aria-label": "Colours: how much is used" },
    LABELS.map((label, place) => element("li", {}, element("span", { class: `swatch heat-${place}` }), label)),
  );
}
