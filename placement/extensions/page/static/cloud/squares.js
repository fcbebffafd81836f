/** Trees as squares on a canvas, for they are many: the more of one is filled, the darker it is. */

import { element } from "../dom.js";

const SMALLEST = 4;
const LARGEST = 28;
/** a square of so many pixels shows its part by how far it is filled, too */
const FILLED = 9;
const COLOURS = 5;

/** Return the colours of a page: those of parts from 0 to 1, of what is over, and of the paper. */
export function coloursOf(node) {
  const style = getComputedStyle(node);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    steps: Array.from({ length: COLOURS }, (_, step) => parsed(colour(`--heat-${step}`))),
    over: colour("--heat-5"),
    paper: colour("--paper"),
    line: colour("--quiet"),
  };
}

function parsed(text) {
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
}

/** Return the colour of a part from 0 to 1, between two of the steps. */
export function mixed(steps, part) {
  const place = Math.min(Math.max(part, 0), 1) * (steps.length - 1);
  const below = Math.min(Math.floor(place), steps.length - 2);
  const mix = steps[below].map((value, place3) => Math.round(value + (steps[below + 1][place3] - value) * (place - below)));
  return `rgb(${mix.join(" ")})`;
}

/** Return how large the squares of so many trees are, to be so wide and at most so tall in all. */
export function sizeFor(count, width, tallest) {
  return Math.max(Math.min(Math.floor(Math.sqrt((width * tallest) / Math.max(count, 1))), LARGEST), SMALLEST);
}

export class Squares {
  /** @param {object} on what hears of the mouse: `{point(host|null), open(host)}` */
  constructor(on) {
    this.hosts = [];
    this.cell = LARGEST;
    this.columns = 1;
    this.canvas = element("canvas", {
      class: "map",
      role: "img",
      mousemove: (event) => this.point(on, this.at(event)),
      mouseleave: () => this.point(on, null),
      click: (event) => {
        const host = this.at(event);
        if (host) on.open(host);
      },
    });
  }

  point(on, host) {
    this.canvas.classList.toggle("pointing", host !== null);
    on.point(host);
  }

  /** Draw hosts, in this order, as their scale says. */
  draw(hosts, scale, { width, cell, colours }) {
    this.hosts = hosts;
    this.cell = cell;
    this.columns = Math.max(Math.floor(width / cell), 1);
    const height = Math.ceil(hosts.length / this.columns) * cell;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const paint = this.canvas.getContext("2d");
    paint.scale(ratio, ratio);
    const side = cell - (cell > 8 ? 2 : 1);
    for (const [place, host] of hosts.entries()) {
      const x = (place % this.columns) * cell;
      const y = Math.floor(place / this.columns) * cell;
      square(paint, x, y, side, scale.of(host), colours);
    }
  }

  at(event) {
    const column = Math.floor(event.offsetX / this.cell);
    if (column >= this.columns) return null;
    return this.hosts[Math.floor(event.offsetY / this.cell) * this.columns + column] ?? null;
  }
}

/** Draw one square. What is over capacity is crossed out; of what isn't known only the edge is drawn. */
function square(paint, x, y, side, { part, over }, { steps, over: loud, paper, line }) {
  if (part === null) {
    paint.lineWidth = 1;
    paint.strokeStyle = line;
    paint.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    return;
  }
  if (over || side < FILLED) {
    paint.fillStyle = over ? loud : mixed(steps, part);
    paint.fillRect(x, y, side, side);
  } else {
    const filled = part > 0 ? Math.max(Math.round(side * part), 2) : 0;
    paint.fillStyle = mixed(steps, 0);
    paint.fillRect(x, y, side, side - filled);
    paint.fillStyle = mixed(steps, Math.max(part, 0.25));
    paint.fillRect(x, y + side - filled, side, filled);
  }
  if (!over) return;
  // a mark besides the colour
  paint.lineWidth = side < FILLED ? 1 : 2;
  paint.strokeStyle = paper;
  paint.beginPath();
  paint.moveTo(x, y + side);
  paint.lineTo(x + side, y);
  paint.stroke();
}
