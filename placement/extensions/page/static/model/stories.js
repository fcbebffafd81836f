/** What consumers held, as long as the page has watched them. */

/** so many consumers have a story, and so many changes each */
const CONSUMERS = 100;
const CHANGES = 50;

/** The feed names providers that changed, not what was before: a story begins with the first look. */
export class Stories {
  /** @param {function(): Date} now */
  constructor(now = () => new Date()) {
    this.now = now;
    this.known = new Map();
  }

  /**
   * Take what a consumer holds.
   * @param {string} uuid
   * @param {Object<string, {resources: Object<string, number>}>} allocations by provider
   * @returns {{since: Date, changes: Array<{time, provider, name, before, after}>}} the latest first
   */
  take(uuid, allocations) {
    const held = flat(allocations);
    const story = this.known.get(uuid) ?? { since: this.now(), held, changes: [] };
    // those looked at last stay longest
    this.known.delete(uuid);
    this.known.set(uuid, story);
    if (this.known.size > CONSUMERS) this.known.delete(this.known.keys().next().value);
    const time = this.now();
    for (const key of new Set([...story.held.keys(), ...held.keys()])) {
      const [before, after] = [story.held.get(key) ?? 0, held.get(key) ?? 0];
      if (before === after) continue;
      const [provider, name] = key.split(" ");
      story.changes.unshift({ time, provider, name, before, after });
    }
    story.changes.length = Math.min(story.changes.length, CHANGES);
    story.held = held;
    return { since: story.since, changes: [...story.changes] };
  }
}

function flat(allocations) {
  const pairs = Object.entries(allocations).flatMap(([provider, { resources }]) =>
    Object.entries(resources).map(([name, value]) => [`${provider} ${name}`, value]),
  );
  return new Map(pairs);
}
