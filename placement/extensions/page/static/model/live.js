/** The cloud as it is now: read once, then kept up to date by what changed. */

import { Refused, askMore } from "../session.js";
import { Cloud } from "./cloud.js";
import { FIELDS, pagesOfTrees } from "./reading.js";
import { Stories } from "./stories.js";
import { Trend } from "./trend.js";

/** milliseconds between two questions for changes, and the longest wait after failures */
const PAUSE = 3000;
const LONGEST = 30000;
/** the longest wait before everything is read again and again where changes can't be told */
const LONGEST_OF_ALL = 120000;
/** uuids in one request: each is 37 characters of its line */
const MOST_UUIDS = 100;
/** after so many changed providers all trees are read again, or after such a part of them */
const MOST_CHANGES = 500;
const MOST_OF_ALL = 1 / 20;

/**
 * Tells by events: `change` when trees changed, `status` when it knows how fresh the cloud is.
 */
export class Live extends EventTarget {
  constructor() {
    super();
    this.cloud = new Cloud();
    this.trend = new Trend();
    /** `idle`, `reading`, `live`, `late` or `refused` */
    this.state = "idle";
    /** how many trees were read so far, while it reads */
    this.read = 0;
    /** which part of the answer that was, from 0 to 1; null: nobody knows */
    this.part = null;
    /** when the cloud was as it is known */
    this.asOf = null;
    this.error = null;
    this.complete = false;
    /** what became of consumers that somebody looked at */
    this.stories = new Stories();
    /** how often something changed, or may have changed, since somebody looks */
    this.news = 0;
    /** whether somebody needs the trees, and more than what changes */
    this.wantsTrees = false;
    /** whether they are needed now, not after the pause */
    this.hurries = false;
    /** roots of trees from which a provider moved while they were read: they are read again */
    this.moved = new Set();
    this.stop = null;
  }

  /** Follow what changes until `end`, without reading the trees; after a refusal ask again. */
  watch() {
    if (this.stop && this.state !== "refused") return;
    this.error = null;
    this.stop = new AbortController();
    this.follow(this.stop.signal).catch(() => {});
  }

  /** Read the trees and keep them up to date until `end`; after a refusal ask again. */
  begin() {
    if (!this.wantsTrees) {
      this.wantsTrees = true;
      this.hurries = true;
      this.dispatchEvent(new Event("hurry"));
    }
    this.watch();
  }

  /** Wait until the trees are read; throws why they can't be. */
  async known(signal) {
    while (!this.complete && !this.error && !signal.aborted) {
      await first([this, "status"], [signal, "abort"]);
    }
    if (!this.complete && this.error) throw this.error;
  }

  /** Ask no more, and forget what was read. */
  end() {
    this.stop?.abort();
    this.stop = null;
    this.cloud = new Cloud();
    this.trend = new Trend();
    this.stories = new Stories();
    this.complete = false;
    this.wantsTrees = false;
    this.asOf = null;
    this.error = null;
    this.tell("idle");
  }

  async follow(signal) {
    let position = null;
    let pause = PAUSE;
    while (!signal.aborted) {
      this.hurries = false;
      if (this.wantsTrees && !this.complete) position = null;
      try {
        const isFollowed = position !== null;
        if (isFollowed) position = await this.readNews(position, signal);
        const isTold = position !== null;
        position ??= await this.readStart(signal);
        if (isTold) pause = PAUSE;
        else if (isFollowed || position === null) pause = Math.min(2 * pause, LONGEST_OF_ALL);
      } catch (error) {
        if (signal.aborted || error.status === 401 || this.isEndedBy(error)) return;
        pause = Math.min(2 * pause, Math.max(pause, LONGEST));
      }
      if (!this.hurries) await rested(pause, signal, [this, "hurry"]);
    }
  }

  /** Tell of a failure; return whether the same question would fail again. */
  isEndedBy(error) {
    const isRefused = error instanceof Refused && !error.passes;
    this.error = error;
    this.tell(isRefused ? "refused" : "late");
    return isRefused;
  }

  readStart(signal) {
    return this.wantsTrees ? this.readAll(signal) : this.readPosition(signal);
  }

  /** Return the present position, or null if changes can't be told; what was before is unknown. */
  async readPosition(signal) {
    const news = await this.newsAfter(null, signal);
    this.fresh(true);
    return news?.position ?? null;
  }

  async readAll(signal) {
    const cloud = new Cloud();
    const moved = new Set();
    let position = null;
    this.read = 0;
    this.part = null;
    if (!this.complete) this.tell("reading");
    for await (const page of pagesOfTrees(signal)) {
      // what changed since the first page is asked for next, also what the later pages have of it
      position ??= page.position;
      for (const tree of page.trees()) {
        for (const root of cloud.take(tree, this.cloud.hosts.get(tree.root)?.changed)) moved.add(root);
      }
      this.read = cloud.hosts.size;
      this.part = page.part(this.read);
      if (!this.complete) this.tell("reading");
      // what changed between the pages is asked for at once; but where it can't be told, a pause grows
      if (page.number > 1 && !this.complete) this.hurries = true;
    }
    this.cloud = cloud;
    this.moved = moved;
    this.complete = true;
    this.fresh(true);
    return position;
  }

  /** Read the trees that changed; return the new position, or null if all must be read again. */
  async readNews(position, signal) {
    const news = await this.newsAfter(position, signal);
    if (news === null || news.providers.length) this.news += 1;
    if (news !== null && !this.complete) {
      this.fresh(news.providers.length > 0);
      return news.position;
    }
    if (news === null || !news.complete) return null;
    // a provider may have left its tree for another one: both are read
    const roots = news.providers.map((uuid) => this.cloud.roots.get(uuid)).filter(Boolean);
    const wanted = [...new Set([...this.moved, ...roots, ...news.providers])];
    this.moved = await this.readAgain(wanted, signal);
    this.fresh(wanted.length > 0);
    return news.position;
  }

  /** Read the trees of providers; return the roots of others from which some of them moved. */
  async readAgain(wanted, signal) {
    const moved = new Set();
    /** provider uuid → root uuid, of all that was read */
    const known = new Map();
    for (let begin = 0; begin < wanted.length; begin += MOST_UUIDS) {
      const part = wanted.slice(begin, begin + MOST_UUIDS);
      const trees = await treesOf(part.filter((uuid) => !known.has(uuid)), signal);
      const read = new Set(trees.map(({ root }) => root));
      for (const { root, providers } of trees) for (const { uuid } of providers) known.set(uuid, root);
      for (const uuid of part) if (known.get(uuid) !== uuid) this.cloud.drop(uuid);
      for (const tree of trees) {
        for (const root of this.cloud.take(tree, Date.now())) if (!read.has(root)) moved.add(root);
      }
      // a later part may fail, and a new answer needn't name the trees that providers left
      for (const root of moved) this.moved.add(root);
    }
    return moved;
  }

  get mostChanges() {
    return Math.max(MOST_CHANGES, Math.floor(MOST_OF_ALL * this.cloud.providers));
  }

  async newsAfter(position, signal) {
    try {
      const after = position === null ? "" : `?limit=${this.mostChanges}&after=${encodeURIComponent(position)}`;
      return await askMore(`changes${after}`, { signal });
    } catch (error) {
      if (error.status === 410) return null;
      throw error;
    }
  }

  fresh(changed) {
    this.asOf = new Date();
    this.error = null;
    if (this.complete) this.trend.sample(this.cloud.totals.classes);
    this.state = "live";
    // who draws what changed has drawn how fresh it is
    if (changed) this.dispatchEvent(new Event("change"));
    this.tell("live");
  }

  tell(state) {
    this.state = state;
    this.dispatchEvent(new Event("status"));
  }
}

/** Return the trees of providers as they are now. */
async function treesOf(uuids, signal) {
  if (!uuids.length) return [];
  return (await askMore(`provider_trees?fields=${FIELDS}&uuid=in:${uuids.join(",")}`, { signal })).trees;
}

/** Wait, at most until an event `[target, type]`; longer while nobody looks at the page. */
async function rested(milliseconds, signal, event) {
  const timer = new EventTarget();
  const number = setTimeout(() => timer.dispatchEvent(new Event("end")), milliseconds);
  await first([timer, "end"], [signal, "abort"], event);
  clearTimeout(number);
  while (document.hidden && !signal.aborted) {
    await first([document, "visibilitychange"], [signal, "abort"]);
  }
}

/** Wait for the first of some events `[target, type]`. No listener is left: one rests for days. */
async function first(...events) {
  const done = new AbortController();
  await new Promise((resolve) => {
    for (const [target, type] of events) target.addEventListener(type, resolve, { signal: done.signal });
  });
  done.abort();
}
