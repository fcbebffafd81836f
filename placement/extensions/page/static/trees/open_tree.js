/** One tree whole: its providers, who holds what of them, and what it shares. */

import { drawHost, pictureExtent } from "../drawings/host.js";
import { drawTree } from "../drawings/tree.js";
import { Extent } from "../drawings/listed.js";
import { fromService } from "../drawings/provider.js";
import { element, show } from "../dom.js";
import { keeping } from "../keeping.js";
import { copyable, failure, named, notice, toAggregate, toConsumer, toDashboard, toTree } from "../links.js";
import { ask, askMore } from "../session.js";
import { count, number } from "../words.js";

const FIELDS = "inventories,traits,aggregates,usages,allocations,consumers";
/** so many trees that share are named */
const MOST_SHARED = 30;

/** One tree, read whole, and again when it changed. */
export class OpenTree {
  /** `told` is called when it is known which tree it is. */
  constructor(wanted, live, node, told) {
    this.wanted = wanted;
    this.live = live;
    this.node = node;
    this.told = told;
    this.root = null;
    /** what is shown, as text */
    this.shown = null;
    this.extent = new Extent();
    this.pictured = pictureExtent();
    this.shared = element("div");
    this.isReading = false;
    this.isStale = false;
    this.failed = false;
    this.stop = new AbortController();
  }

  /** Read it, one answer after the other: the last one shown is the last one asked for. */
  async read() {
    this.isStale = true;
    if (this.isReading) return;
    this.isReading = true;
    while (this.isStale && !this.stop.signal.aborted) {
      this.isStale = false;
      await this.readOnce(this.stop.signal);
    }
    this.isReading = false;
  }

  async readOnce(signal) {
    if (!this.root) show(this.node, notice("The tree is being read."));
    this.failed = false;
    // before the question: what changes meanwhile is read once more
    this.seen = this.known();
    try {
      const uuid = encodeURIComponent(this.wanted);
      const { trees, consumers } = await askMore(`provider_trees?uuid=${uuid}&fields=${FIELDS}`, { signal });
      if (signal.aborted) return;
      if (!trees.length) {
        this.shown = null;
        show(this.node, notice("There is no provider with this uuid any more, or there never was one."));
        return;
      }
      const [tree] = trees;
      const text = JSON.stringify([tree, consumers]);
      // whoever marks a text keeps it unless something changed
      if (text !== this.shown) this.draw(tree, consumers ?? {});
      this.shown = text;
      await this.tellShared(tree, signal);
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      this.failed = Boolean(error.passes);
      // what is shown stays while the service is away; how old it is stands above
      if (this.root && error.passes) return;
      const again = element("button", { type: "button", class: "plain", click: () => this.read() }, "Try again");
      this.shown = null;
      show(this.node, failure(error, error.passes && again));
    }
  }

  draw(tree, consumers) {
    const providers = fromService(tree.providers);
    const consumer = (uuid) => [toConsumer(uuid), owner(consumers[uuid])];
    const picture = drawHost(providers, { consumer, extent: this.pictured });
    const drawing = drawTree(providers, {
      uuid: (uuid) => copyable(uuid),
      consumer,
      aggregate: toAggregate,
      chosen: this.wanted === tree.root ? null : this.wanted,
      extent: this.extent,
    });
    const isFirst = this.root === null;
    const isOther = this.root !== tree.root;
    this.root = tree.root;
    const root = tree.providers.find(({ uuid }) => uuid === tree.root) ?? tree.providers[0];
    const about = element(
      "div",
      { class: "title" },
      // the heading with this name is that of its root, below
      element("strong", { dir: "auto" }, root.name),
      element("span", { class: "quiet" }, count(tree.providers.length, "provider")),
      toDashboard(root.uuid, root.name),
    );
    keeping(this.node, () => show(this.node, about, picture, drawing, this.shared));
    if (isOther) this.told();
    if (isFirst) this.node.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /** Say which trees have a part in this one's storage and the like, or it in theirs. */
  async tellShared(tree, signal) {
    const aggregates = [...new Set(tree.providers.flatMap((provider) => provider.aggregates))];
    if (!aggregates.length) {
      show(this.shared);
      return;
    }
    const { resource_providers: sharing } = await ask(
      `resource_providers?required=MISC_SHARES_VIA_AGGREGATE&member_of=in:${aggregates.slice(0, 50).join(",")}`,
      { signal },
    );
    const own = new Set(tree.providers.map(({ uuid }) => uuid));
    const others = sharing.filter(({ uuid }) => !own.has(uuid));
    const offered = tree.providers
      .filter(({ uuid }) => sharing.some((provider) => provider.uuid === uuid))
      .flatMap((provider) => provider.aggregates);
    const served = offered.length ? this.live.cloud.servedBy(offered, tree.root) : [];
    keeping(this.shared, () =>
      show(
        this.shared,
        others.length > 0 && shared("This tree may also use", others),
        served.length > 0 && shared(`Shared with ${count(served.length, "tree")}`, served),
      ),
    );
  }

  /** Return what the page knows of this tree, which is another object after each change. */
  known() {
    const { roots, hosts } = this.live.cloud;
    return hosts.get(roots.get(this.wanted) ?? this.root);
  }

  /** Read again if the tree isn't as it was. */
  changed() {
    if (this.known() !== this.seen) this.read();
  }

  /** Read again what couldn't be read while the service was away. */
  status() {
    if (this.failed && this.live.state === "live") this.read();
  }

  close() {
    this.stop.abort();
  }
}

function shared(title, providers) {
  return element(
    "section",
    { class: "shared" },
    element("h2", {}, title),
    element(
      "ul",
      { class: "values" },
      providers.slice(0, MOST_SHARED).map(({ uuid, name }) => element("li", {}, toTree(uuid, name))),
      providers.length > MOST_SHARED && element("li", {}, `and ${number(providers.length - MOST_SHARED)} more`),
    ),
  );
}

function owner(consumer) {
  if (!consumer) return "";
  const { consumer_type: kind, project_id: project } = consumer;
  const type = kind && kind !== "unknown" ? kind.toLowerCase() : "consumer";
  return element("span", { class: "quiet" }, `${type} of project `, project ? named("projects", project) : "–");
}
