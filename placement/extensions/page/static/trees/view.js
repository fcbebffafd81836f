/** Who holds what of this host? A list of all trees to search in, and one of them whole. */

import { drawTree } from "../drawings/tree.js";
import { Extent } from "../drawings/listed.js";
import { fromService } from "../drawings/provider.js";
import { element, show } from "../dom.js";
import { keeping } from "../keeping.js";
import { copyable, failure, notice, reasonOf, toAggregate, toConsumer, toTree } from "../links.js";
import { addressOf, refine } from "../place.js";
import { ask, askMore } from "../session.js";
import { VirtualList } from "../virtual_list.js";
import { count, mayBeUuid, number } from "../words.js";

const FIELDS = "inventories,traits,aggregates,usages,allocations,consumers";
/** so many trees that share are named */
const MOST_SHARED = 30;

export function treesView(place, live) {
  live.begin();
  let tree = null;
  let wanted = null;
  const search = element("input", {
    type: "search",
    "aria-label": "Search by name or uuid of any provider",
    placeholder: "Name or uuid",
    spellcheck: "false",
    value: place.query.get("q") ?? "",
    input: () => (refine(here()), list()),
  });
  const found = element("p", { class: "quiet", role: "status" });
  const hosts = new VirtualList({
    label: "Trees",
    height: 32,
    kind: "names",
    cells: (host) => [link(host), host.over ? element("span", { class: "bad" }, "over") : ""],
  });
  const detail = element("section", { class: "detail", "aria-label": "Tree" });
  const node = element(
    "div",
    { class: "trees" },
    element("h1", {}, "Trees"),
    element("div", { class: "columns" }, element("div", { class: "side" }, search, found, hosts.node), detail),
  );

  function here(uuid = wanted) {
    const query = new URLSearchParams(search.value ? { q: search.value } : {});
    return addressOf("trees", uuid ? [uuid] : [], query);
  }

  function link(host) {
    const made = toTree(host.uuid, host.name);
    made.setAttribute("href", here(host.uuid));
    if (host.uuid === tree?.root) made.setAttribute("aria-current", "true");
    return made;
  }

  function list() {
    if (!live.complete) {
      show(found, live.error ? reasonOf(live.error) : "The trees are being read.");
      return;
    }
    const some = live.cloud.found(search.value);
    hosts.set(some);
    const all = live.cloud.hosts.size;
    show(
      found,
      !all
        ? "There is no resource provider yet."
        : some.length === all
          ? count(all, "tree")
          : `${number(some.length)} of ${count(all, "tree")}`,
    );
  }

  function open(next) {
    tree?.close();
    tree = null;
    wanted = next;
    if (!wanted) {
      show(detail, notice("Choose a tree to see its providers, what they have, and who holds it."));
      list();
      return;
    }
    if (!mayBeUuid(wanted)) {
      const address = addressOf("trees", [], new URLSearchParams({ q: wanted }));
      const byName = element("a", { href: address }, "Search for this name");
      show(detail, notice(`“${wanted}” is no uuid. `, byName, "."));
      list();
      return;
    }
    tree = new OpenTree(wanted, live, detail, () => {
      list();
      const at = hosts.items.findIndex(({ uuid }) => uuid === tree.root);
      if (at >= 0) hosts.reveal(at);
    });
    tree.read();
  }

  open(place.path[0]);
  list();
  return {
    title: "Trees",
    node,
    go(next) {
      search.value = next.query.get("q") ?? "";
      if (next.path[0] === wanted) list();
      else open(next.path[0]);
      return true;
    },
    changed() {
      list();
      tree?.changed();
    },
    status() {
      if (!live.complete) list();
      tree?.status();
    },
    close: () => tree?.close(),
  };
}

/** One tree, read whole, and again when it changed. */
class OpenTree {
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
    const drawing = drawTree(fromService(tree.providers), {
      uuid: (uuid) => copyable(uuid),
      consumer: (uuid) => [toConsumer(uuid), owner(consumers[uuid])],
      aggregate: toAggregate,
      chosen: this.wanted === tree.root ? null : this.wanted,
      extent: this.extent,
    });
    const isFirst = this.root === null;
    const isOther = this.root !== tree.root;
    this.root = tree.root;
    keeping(this.node, () => show(this.node, drawing, this.shared));
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
  return element("span", { class: "quiet" }, `${type} of project ${project}`);
}
