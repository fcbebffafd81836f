/** A list of many rows, of which only those in sight are elements. */

import { element, show } from "./dom.js";
import { onceLetGo } from "./pressing.js";

/** rows above and below those in sight */
const BEYOND = 8;

export class VirtualList {
  /**
   * @param {object} options
   * @param {string} options.label what the list is, for readers of screens
   * @param {number} options.height pixels of each row
   * @param {function(unknown): Array<Node|string>} options.cells draws what stands in a row; its
   *   item is `{uuid, …}` or `[uuid, …]`
   * @param {string} [options.kind] a class of the list, for its columns
   * @param {Array<string>} [options.heads] what stands above the columns
   */
  constructor({ label, height, cells, kind = "", heads = [] }) {
    this.height = height;
    this.cells = cells;
    this.items = [];
    this.first = 0;
    /** key of the item that had the focus last */
    this.current = null;
    this.body = element("div", { class: "rows", role: "presentation", focusin: () => this.enter() });
    this.scroller = element(
      "div",
      { class: "scroller", tabindex: -1, role: "rowgroup", scroll: () => this.draw(), keydown: (event) => this.move(event) },
      this.body,
    );
    this.heads = element("div", { class: "heads", role: "rowgroup" });
    this.node = element(
      "div",
      { class: `list ${kind}`, role: "table", "aria-label": label },
      this.scroller,
    );
    this.headed = 0;
    if (heads.length) this.setHeads(heads);
    this.sight = new ResizeObserver(() => this.draw());
    this.sight.observe(this.scroller);
  }

  /** Show what stands above the columns. */
  setHeads(heads) {
    show(
      this.heads,
      element("div", { class: "row", role: "row" }, heads.map((head) => element("span", { role: head ? "columnheader" : "cell" }, head))),
    );
    if (!this.headed) this.node.prepend(this.heads);
    this.headed = 1;
  }

  /** Give the focus to the row that Tab would lead to. */
  focus() {
    this.body.querySelector('[tabindex="0"]')?.focus();
  }

  /** Show these items; what is in sight stays where it is. */
  set(items) {
    this.items = items;
    this.node.setAttribute("aria-rowcount", items.length + this.headed);
    this.body.style.height = `${items.length * this.height}px`;
    this.draw();
  }

  /** Scroll so that an item is in sight. */
  reveal(index) {
    const top = index * this.height;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop || top + this.height > scrollTop + clientHeight) {
      this.scroller.scrollTop = top - clientHeight / 2;
      this.draw();
    }
  }

  draw() {
    onceLetGo(this.body, () => this.drawRows());
  }

  drawRows() {
    const { scrollTop, clientHeight, offsetWidth, clientWidth } = this.scroller;
    // columns stand below their heads, also beside a bar for scrolling
    this.heads.style.paddingRight = `${offsetWidth - clientWidth}px`;
    const first = Math.max(Math.floor(scrollTop / this.height) - BEYOND, 0);
    const last = Math.min(
      Math.ceil((scrollTop + clientHeight) / this.height) + BEYOND,
      this.items.length,
    );
    // the focus stays with its item, which may stand in another row now
    const held = this.focused();
    const focused = held === null ? -1 : this.items.findIndex((item) => keyOf(item) === held);
    this.first = first;
    show(
      this.body,
      this.items.slice(first, last).map((item, place) => this.row(item, first + place)),
    );
    this.lead();
    if (focused >= first && focused < last) this.link(focused)?.focus({ preventScroll: true });
    else if (held !== null) this.scroller.focus({ preventScroll: true });
  }

  row(item, index) {
    const row = element(
      "div",
      { class: "row", role: "row", "aria-rowindex": index + 1 + this.headed, "data-key": keyOf(item) },
      this.cells(item).map((cell) => element("span", { role: "cell" }, cell)),
    );
    row.style.top = `${index * this.height}px`;
    row.style.height = `${this.height}px`;
    return row;
  }

  /** Return the key of the item that has the focus; null if none has. */
  focused() {
    const row = this.body.contains(document.activeElement) && document.activeElement.closest(".row");
    return row ? row.dataset.key : null;
  }

  link(index) {
    return this.body.children[index - this.first]?.querySelector("a, button");
  }

  enter() {
    this.current = this.focused();
    this.lead();
  }

  /** Let Tab lead to one row, and then out of the list: there may be 10,000 rows. */
  lead() {
    const links = [...this.body.children]
      .map((row) => ({ key: row.dataset.key, link: row.querySelector("a, button") }))
      .filter(({ link }) => link);
    const inSight = Math.ceil(this.scroller.scrollTop / this.height) - this.first;
    const one =
      links.find(({ key }) => key === this.current) ??
      links.find(({ link }) => link.hasAttribute("aria-current")) ??
      links[Math.min(inSight, links.length - 1)];
    for (const each of links) each.link.tabIndex = each === one ? 0 : -1;
  }

  /** Go to another row with the keys for that. */
  move(event) {
    const page = Math.max(Math.floor(this.scroller.clientHeight / this.height) - 1, 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    const held = this.focused();
    if (!step || held === null || event.ctrlKey || event.altKey || event.metaKey) return;
    const from = this.items.findIndex((item) => keyOf(item) === held);
    event.preventDefault();
    const to = Math.min(Math.max(from + step, 0), this.items.length - 1);
    this.reveal(to);
    this.link(to)?.focus({ preventScroll: true });
  }
}

/** Return the uuid of an item, or of an entry whose first part is one. */
function keyOf(item) {
  return item.uuid ?? item[0];
}
