/** A map of trees, in groups: from the cloud to a group, and from there to a tree. */

import { addSome, Extent } from "../drawings/listed.js";
import { drawn, element, show } from "../dom.js";
import { MEASURES, OVER } from "../model/measures.js";
import { addressOf } from "../place.js";
import { count, number } from "../words.js";
import { coloursOf, sizeFor, Squares } from "./squares.js";

const TALLEST = 320;
/** groups that are drawn before one asks for more */
const GROUPS = 60;
/** pixels: a group has room for its name */
const NARROWEST = 190;
const PARTS = [0, 0.25, 0.5, 0.75, 1];

export class HeatMap {
  constructor() {
    this.groups = [];
    this.squares = [];
    /** uuid of the tree that is told about; null if none is */
    this.pointed = null;
    this.extent = new Extent();
    this.shown = element("div");
    this.legend = element("div", { class: "legend" });
    this.told = element("p", { class: "told quiet" });
    this.node = element("div", { class: "heat" }, this.shown, this.legend, this.told);
    this.width = new ResizeObserver(() => this.node.clientWidth !== this.paints?.width && this.draw());
    this.width.observe(this.node);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.draw();
    this.scheme.addEventListener("change", this.repaint);
  }

  /**
   * Show groups of trees.
   * @param {Array} groups `{key, hosts}`
   * @param {Scale} scale what is shown of them
   * @param {function(object): Element|null} headingOf returns what stands above a group
   */
  set(groups, scale, headingOf) {
    this.groups = groups;
    this.headingOf = headingOf;
    this.scale = scale;
    this.tell(this.stillPointed());
    show(this.legend, legend(scale.measure));
    const before = new Map(this.squares.map((one) => [one.key, one]));
    this.squares = [];
    this.paints = null;
    this.extent.begin();
    const list = element("ul", { class: "map-parts" });
    addSome(list, groups, (group) => this.part(group, before.get(group.key)), {
      key: "groups",
      step: GROUPS,
      extent: this.extent,
    });
    show(this.shown, list);
    this.draw();
  }

  part(group, known) {
    const { key, hosts } = group;
    const one = known ?? this.made(key);
    one.hosts = hosts;
    one.parts = this.scale.partsOf(hosts);
    this.squares.push(one);
    // Tab leads to one map; arrows go from there to the others
    one.squares.canvas.tabIndex = this.squares.length === 1 ? 0 : -1;
    one.squares.canvas.setAttribute("aria-label", this.summed(one.parts));
    // a part that comes by a click is drawn at once
    if (this.paints) this.paint(one);
    return element("li", { "data-key": key }, this.headingOf(group), one.squares.node);
  }

  made(key) {
    const one = { key };
    one.squares = new Squares({
      point: (host) => this.tell(host),
      open: ({ uuid }) => (location.hash = addressOf("trees", [uuid])),
      told: (host) => this.scale.told(host),
      leave: (step) => this.squares[this.squares.indexOf(one) + step]?.squares.cursor.enter(step),
    });
    return one;
  }

  /** Return what a map says, for readers of screens. */
  summed(parts) {
    let [none, most, over] = [0, 0, 0];
    for (const part of parts) {
      if (part === OVER) over += 1;
      else if (part >= 1) most += 1;
      else if (part === 0) none += 1;
    }
    const { label, ends } = MEASURES.get(this.scale.measure);
    return (
      `${label} of ${count(parts.length, "tree")}: ${number(none)} ${ends[0]}, ${number(most)} ${ends[1]} and ` +
      `${number(over)} over capacity. The list of trees has the same.`
    );
  }

  draw() {
    const width = this.node.clientWidth;
    const trees = this.groups.reduce((sum, { hosts }) => sum + hosts.length, 0);
    if (!width || !trees) {
      this.paints = null;
      return;
    }
    this.paints = { width, cell: sizeFor(trees, width, TALLEST), colours: coloursOf(this.node) };
    for (const one of this.squares) this.paint(one);
  }

  paint({ squares, hosts, parts }) {
    const { width, cell } = this.paints;
    // groups stand side by side, twice as wide as tall
    const own = this.groups.length > 1 ? Math.max(Math.ceil(Math.sqrt(2 * hosts.length)) * cell, NARROWEST) : width;
    squares.draw(hosts, parts, { ...this.paints, width: Math.min(own, width) });
  }

  /** Return the tree that is told about, as it is now; null if it is shown no more. */
  stillPointed() {
    if (this.pointed === null) return null;
    for (const { hosts } of this.groups) {
      const found = hosts.find(({ uuid }) => uuid === this.pointed);
      if (found) return found;
    }
    return null;
  }

  tell(host) {
    this.pointed = host?.uuid ?? null;
    if (!host) {
      show(this.told, "Point at a square to see which tree it is; click to open it. With the keyboard: arrows and Enter.");
      return;
    }
    show(this.told, element("strong", { dir: "auto" }, host.name), ` ${this.scale.told(host)}`);
  }

  close() {
    this.width.disconnect();
    this.scheme.removeEventListener("change", this.repaint);
  }
}

/** Return what colours mean: how far a square is filled says the same. */
function legend(measure) {
  const [low, high] = MEASURES.get(measure).ends;
  const swatch = (...inside) => drawn("svg", { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" }, inside);
  const filled = (part, step) =>
    swatch(
      drawn("rect", { class: "heat-0", width: 12, height: 12 }),
      drawn("rect", { class: `heat-${step}`, y: 12 - 12 * part, width: 12, height: 12 * part }),
    );
  return [
    element("span", {}, low),
    element("span", { class: "steps" }, PARTS.map(filled)),
    element("span", {}, high),
    measure === "used" &&
      element(
        "span",
        {},
        swatch(
          drawn("rect", { class: "heat-5", width: 12, height: 12 }),
          drawn("path", { class: "cross", d: "M 0 12 L 12 0" }),
        ),
        "over capacity",
      ),
    measure === "fits" && element("span", {}, swatch(drawn("rect", { class: "edge", x: 0.5, y: 0.5, width: 11, height: 11 })), "not counted"),
  ];
}
