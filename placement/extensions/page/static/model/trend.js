/** How the use of each class went in the last hour, as the page saw it. */

/** milliseconds between two samples, and for which they are kept */
const BETWEEN_SAMPLES = 30_000;
export const KEPT_FOR = 3_600_000;
/** less than that is a speck beside an hour */
const SEEN_FROM = 300_000;

export class Trend {
  constructor() {
    /** `{at, shares}`, the oldest first; shares: class → used part of the capacity */
    this.samples = [];
  }

  /** Take a sample of class → sums of the cloud, unless the last one is of a moment ago. */
  sample(classes, now = Date.now()) {
    const last = this.samples.at(-1);
    if (last && now - last.at < BETWEEN_SAMPLES) return;
    const shares = new Map();
    for (const [name, { used, capacity }] of classes) {
      if (capacity > 0) shares.set(name, used / capacity);
    }
    this.samples.push({ at: now, shares });
    while (now - this.samples[0].at > KEPT_FOR) this.samples.shift();
  }

  /** Return `[[milliseconds ago, part], …]` of a class, the oldest first; none of the first minutes. */
  of(name, now = Date.now()) {
    const points = this.samples
      .filter(({ at, shares }) => shares.has(name) && now - at <= KEPT_FOR)
      .map(({ at, shares }) => [now - at, shares.get(name)]);
    return points[0]?.[0] >= SEEN_FROM ? points : [];
  }
}
