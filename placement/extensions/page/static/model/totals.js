/** Sums of trees by class, kept as trees come and go: nobody adds up 100,000 hosts for one that changed. */

/** Sums of one resource class over no tree. */
function nothing() {
  return { trees: 0, total: 0, reserved: 0, capacity: 0, used: 0, providers: 0, over: 0 };
}

export class Totals {
  constructor() {
    /** how many trees there are */
    this.trees = 0;
    /** class → `{trees, total, reserved, capacity, used, providers, over}`; `over`: how many inventories are */
    this.classes = new Map();
  }

  /** Add a tree, or take it away with a sign of -1; `classes` are those of its summary. */
  add({ classes }, sign = 1) {
    this.trees += sign;
    for (const [name, amounts] of classes) {
      if (!this.classes.has(name)) this.classes.set(name, nothing());
      const sums = this.classes.get(name);
      sums.trees += sign;
      sums.total += sign * amounts.total;
      sums.reserved += sign * amounts.reserved;
      sums.capacity += sign * amounts.capacity;
      sums.used += sign * amounts.used;
      sums.providers += sign * amounts.providers;
      sums.over += sign * amounts.over;
      if (!sums.trees) this.classes.delete(name);
    }
  }

  /** Return the sums of a class, also of one that no tree has. */
  of(name) {
    return this.classes.get(name) ?? nothing();
  }
}
