/** What was computed last, and of what: it is good as long as that is the same. */
export class Remembered {
  constructor() {
    this.key = null;
    this.value = null;
  }

  /** Return the value for these things, each compared by identity; `compute` makes it. */
  of(key, compute) {
    if (!this.key?.every((part, at) => part === key[at])) {
      this.value = compute();
      this.key = key;
    }
    return this.value;
  }
}
