/** How often a question is asked again. */

/** so many times as long as the answer took, the next question waits */
const REST = 10;

/** Keeps the time that answers take at a tenth of all: a question that costs much is asked rarely. */
export class Pace {
  /** @param {function(): number} now returns milliseconds */
  constructor(now = () => performance.now()) {
    this.now = now;
    this.next = 0;
  }

  /** whether it is too early to ask again */
  get rests() {
    return this.now() < this.next;
  }

  /** Return what a question is answered; it counts, also if it fails. */
  async time(question) {
    const begun = this.now();
    try {
      return await question();
    } finally {
      const ended = this.now();
      this.next = ended + REST * (ended - begun);
    }
  }
}
