/** A map of trees, in groups: from the cloud to a group, and from there to a tree. */

import { addSome, Extent } from "../drawings/listed.js";
import { drawn, element, show } from "../dom.js";
import { MEASURES } from "../model/measures.js";
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
    this.extent = new Extent();
    this.shown = element("div");
    this.legend = element("div", { class: "legend" });
    this.told = element("p", { class: "told quiet" });
    this.node = element("div", { class: "heat" }, this.shown, this.legend, this.told);
    this.width = new ResizeObserver(() => this.draw());
    this.width.observe(this.node);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.repaint = () => this.draw();
    this.scheme.addEventListener("change", this.repaint);
  }

  /**
   * Show groups of trees.
   * @param {Array} groups `{key, heading, hosts}`; a heading of null is that of all trees
   * @param {Scale} scale what is shown of them
   */
  set(groups, scale) {
    this.groups = groups;
    this.scale = scale;
    this.tell(null);
    show(this.legend, legend(scale.measure));
    const before = new Map(this.squares.map((one) => [one.key, one]));
    this.squares = [];
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

  part({ key, heading, hosts }, known) {
    const on = { point: (host) => this.tell(host), open: ({ uuid }) => (location.hash = addressOf("trees", [uuid])) };
    const one = known ?? { key, squares: new Squares(on) };
    one.hosts = hosts;
    this.squares.push(one);
    one.squares.canvas.setAttribute("aria-label", this.summed(hosts));
    // a part that comes by a click is drawn at once
    if (this.paints) this.paint(one);
    return element("li", { "data-key": key }, heading, one.squares.canvas);
  }

  /** Return what a map says, for readers of screens. */
  summed(hosts) {
    const parts = hosts.map((host) => this.scale.of(host));
    const over = parts.filter((each) => each.over).length;
    const most = parts.filter(({ part, over: is }) => !is && part !== null && part >= 1).length;
    const none = parts.filter(({ part }) => part === 0).length;
    const { label, ends } = MEASURES.get(this.scale.measure);
    return (
      `${label} of ${count(hosts.length, "tree")}: ${number(none)} ${ends[0]}, ${number(most)} ${ends[1]} and ` +
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

  paint({ squares, hosts }) {
    const { width, cell } = this.paints;
    // groups stand side by side, twice as wide as tall
    const own = this.groups.length > 1 ? Math.max(Math.ceil(Math.sqrt(2 * hosts.length)) * cell, NARROWEST) : width;
    squares.draw(hosts, this.scale, { ...this.paints, width: Math.min(own, width) });
  }

  tell(host) {
    if (!host) {
      show(this.told, "Point at a square to see which tree it is; click to open it.");
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
