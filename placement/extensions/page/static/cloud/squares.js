/** Trees as squares on a canvas, for they are many: the more of one is filled, the darker it is. */

import { element } from "../dom.js";
import { OVER } from "../model/measures.js";
import { Cursor } from "./cursor.js";

const SMALLEST = 4;
const LARGEST = 28;
/** a square of so many pixels shows its part by how far it is filled, too */
const FILLED = 9;
const COLOURS = 5;
/** so many colours lie between nothing and all */
const SHADES = 256;

/** Return the colours of a page, for `Squares.draw`: of parts from 0 to 1, of what is over, of the paper and of lines. */
export function coloursOf(node) {
  const style = getComputedStyle(node);
  const colour = (name) => parsed(style.getPropertyValue(name).trim());
  const steps = Array.from({ length: COLOURS }, (_, step) => colour(`--heat-${step}`));
  return {
    shades: Uint32Array.from({ length: SHADES }, (_, at) => packed(mixed(steps, at / (SHADES - 1)))),
    over: packed(colour("--heat-5")),
    paper: packed(colour("--paper")),
    line: packed(colour("--quiet")),
  };
}

function parsed(text) {
  return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
}

/** Return a colour as a canvas stores it. */
function packed(colour) {
  return new Uint32Array(new Uint8Array([...colour, 255]).buffer)[0];
}

/** Return the colour of a part from 0 to 1, between two of the steps. */
export function mixed(steps, part) {
  const place = Math.min(Math.max(part, 0), 1) * (steps.length - 1);
  const below = Math.min(Math.floor(place), steps.length - 2);
  return steps[below].map((value, place3) => Math.round(value + (steps[below + 1][place3] - value) * (place - below)));
}

/** Return how large the squares of so many trees are, to be so wide and at most so tall in all. */
export function sizeFor(count, width, tallest) {
  return Math.max(Math.min(Math.floor(Math.sqrt((width * tallest) / Math.max(count, 1))), LARGEST), SMALLEST);
}

export class Squares {
  /**
   * @param {object} on what hears of the mouse and of keys: `{point(host|null), open(host),
   *   leave(step), told(host)}`; `leave` goes on to the map before or behind, `told` says in words
   *   what is shown of a host
   */
  constructor(on) {
    this.hosts = [];
    this.cell = LARGEST;
    this.columns = 1;
    this.cursor = new Cursor(this, on);
    this.canvas = element(
      "canvas",
      {
        class: "map",
        role: "listbox",
        mousemove: (event) => this.point(on, this.at(event)),
        mouseleave: () => this.point(on, null),
        click: (event) => {
          const host = this.at(event);
          if (host) on.open(host);
        },
        focus: () => this.cursor.show(),
        keydown: (event) => this.cursor.move(event),
      },
      this.cursor.option,
    );
    this.node = element("div", { class: "squares" }, this.canvas, this.cursor.ring);
  }

  point(on, host) {
    this.canvas.classList.toggle("pointing", host !== null);
    on.point(host);
  }

  /** Draw hosts, in this order, with these parts of a scale. */
  draw(hosts, parts, { width, cell, colours }) {
    this.hosts = hosts;
    this.cell = cell;
    this.columns = Math.max(Math.floor(width / cell), 1);
    const height = Math.ceil(hosts.length / this.columns) * cell;
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    if (!this.canvas.width || !this.canvas.height) return;
    const paint = this.canvas.getContext("2d");
    // a call for each of 100,000 squares takes many times as long as to write their pixels
    const image = paint.createImageData(this.canvas.width, this.canvas.height);
    const pixels = new Pixels(new Uint32Array(image.data.buffer), this.canvas.width);
    const side = Math.max(Math.round((cell - (cell > 8 ? 2 : 1)) * ratio), 1);
    const isFilled = side >= FILLED * ratio;
    for (let place = 0; place < hosts.length; place += 1) {
      const x = Math.round((place % this.columns) * cell * ratio);
      const y = Math.round(Math.floor(place / this.columns) * cell * ratio);
      square(pixels, x, y, side, parts[place], isFilled, colours);
    }
    paint.putImageData(image, 0, 0);
    this.cursor.follow();
  }

  at(event) {
    const column = Math.floor(event.offsetX / this.cell);
    if (column >= this.columns) return null;
    return this.hosts[Math.floor(event.offsetY / this.cell) * this.columns + column] ?? null;
  }
}

/** The pixels of a canvas, row by row. */
class Pixels {
  constructor(all, width) {
    this.all = all;
    this.width = width;
  }

  fill(x, y, width, height, colour) {
    for (let row = y; row < y + height; row += 1) {
      this.all.fill(colour, row * this.width + x, row * this.width + x + width);
    }
  }
}

/** Draw one square. What is over capacity is crossed out; of what isn't known only the edge is drawn. */
function square(pixels, x, y, side, part, isFilled, { shades, over, paper, line }) {
  if (Number.isNaN(part)) {
    pixels.fill(x, y, side, side, line);
    pixels.fill(x + 1, y + 1, side - 2, side - 2, paper);
    return;
  }
  if (part === OVER) {
    pixels.fill(x, y, side, side, over);
    // a mark besides the colour
    const wide = isFilled ? 2 : 1;
    for (let row = 0; row < side; row += 1) pixels.fill(x + Math.max(side - row - wide, 0), y + row, wide, 1, paper);
    return;
  }
  const shade = shades[Math.round(Math.min(part, 1) * (SHADES - 1))];
  if (!isFilled) {
    pixels.fill(x, y, side, side, shade);
    return;
  }
  const filled = part > 0 ? Math.max(Math.round(side * Math.min(part, 1)), 2) : 0;
  pixels.fill(x, y, side, side - filled, shades[0]);
  pixels.fill(x, y + side - filled, side, filled, shades[Math.round(Math.min(Math.max(part, 0.25), 1) * (SHADES - 1))]);
}
