/** The square of a map that keys are at: a ring around it, and its words for readers of screens. */

import { element, newId } from "../dom.js";

export class Cursor {
  /** @param {Squares} squares @param {object} on what hears of keys: see `Squares` */
  constructor(squares, on) {
    this.squares = squares;
    this.on = on;
    /** the host that keys are at */
    this.uuid = null;
    // a canvas has nothing to read: what stands inside of it is read instead
    this.option = element("span", { role: "option", id: newId("square"), "aria-selected": "true" });
    this.ring = element("span", { class: "ring", "aria-hidden": "true" });
  }

  /** Return where the host stands among those of the map; the first one if it is gone. */
  get place() {
    return Math.max(this.squares.hosts.findIndex(({ uuid }) => uuid === this.uuid), 0);
  }

  /** Take the focus, from the map before or behind this one. */
  enter(step) {
    const { hosts, canvas } = this.squares;
    this.uuid = hosts.at(step > 0 ? 0 : -1)?.uuid ?? null;
    canvas.focus();
  }

  /** Say and show where keys are. */
  show() {
    const place = this.follow();
    const host = this.squares.hosts[place];
    if (!host) return;
    this.on.point(host);
    this.ring.scrollIntoView({ block: "nearest" });
  }

  /** Keep ring and words at the host, wherever it stands now; return its place. */
  follow() {
    const { hosts, canvas, cell, columns } = this.squares;
    // where nobody has been yet, it is the first one: to look for a host among 100,000 takes time
    const place = this.uuid === null ? 0 : this.place;
    const host = hosts[place];
    if (!host) return -1;
    this.option.textContent = `${host.name}: ${this.on.told(host)}`;
    this.option.setAttribute("aria-posinset", place + 1);
    this.option.setAttribute("aria-setsize", hosts.length);
    canvas.setAttribute("aria-activedescendant", this.option.id);
    const [x, y] = [(place % columns) * cell, Math.floor(place / columns) * cell];
    Object.assign(this.ring.style, { left: `${x - 3}px`, top: `${y - 3}px`, width: `${cell + 4}px`, height: `${cell + 4}px` });
    return place;
  }

  /** Go to another square with the keys for that, or open the one that keys are at. */
  move(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { hosts, columns } = this.squares;
    const from = this.place;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -from, End: hosts.length - 1 - from };
    const leaves = { PageDown: 1, PageUp: -1 }[event.key];
    if (event.key === "Enter" || event.key === " ") this.on.open(hosts[from]);
    else if (leaves) this.on.leave(leaves);
    else if (event.key in steps) this.step(from, steps[event.key]);
    else return;
    event.preventDefault();
  }

  step(from, step) {
    const { hosts, columns } = this.squares;
    const last = hosts.length - 1;
    let to = from + step;
    // the last row may be shorter
    if (to > last && Math.floor(from / columns) < Math.floor(last / columns)) to = last;
    if (to < 0 || to > last) {
      this.on.leave(Math.sign(step));
      return;
    }
    this.uuid = hosts[to].uuid;
    this.show();
  }
}
