/** Who holds what of this host? A list of all trees to search in, and one of them whole. */

import { bar } from "../drawings/bar.js";
import { element, show } from "../dom.js";
import { notice, reasonOf, tellReading, toTree } from "../links.js";
import { names } from "../model/names.js";
import { DISABLED, STATES, statesOf } from "../model/states.js";
import { TraitRoots } from "../model/trait_roots.js";
import { amountsIn, commonClasses, freeText, wantedOf } from "../model/tree_filter.js";
import { addressOf, refine } from "../place.js";
import { VirtualList } from "../virtual_list.js";
import { byClass, count, mayBeUuid, number } from "../words.js";
import { filterFields, KEPT } from "./filters.js";
import { OpenTree } from "./open_tree.js";

/** classes with a bar each */
const BARS = 3;
/** so many aggregates, and classes to sort by, are offered */
const OFFERED = 100;

export function treesView(place, live) {
  live.begin();
  let tree = null;
  let wanted = null;
  let classes = [];
  const traits = new TraitRoots(() => list());
  const found = element("p", { class: "quiet", role: "status" });
  // a narrow window has the bars below the name
  const isNarrow = matchMedia("(max-width: 700px)").matches;
  const hosts = new VirtualList({ label: "Trees", height: isNarrow ? 76 : 34, kind: "names", cells });
  const fields = filterFields(() => (refine(here()), list()), () => hosts.focus());
  const detail = element("section", { class: "detail", "aria-label": "Tree" });
  const columns = element("div", { class: "columns" }, element("div", { class: "side" }, found, hosts.node), detail);
  const node = element("div", { class: "trees" }, element("h1", {}, "Trees"), fields.node, columns);

  function here(uuid = wanted) {
    const values = fields.values();
    const query = new URLSearchParams(KEPT.filter((key) => values[key]).map((key) => [key, values[key]]));
    return addressOf("trees", uuid ? [uuid] : [], query);
  }

  function cells(host) {
    const made = toTree(host.uuid, host.name);
    const aim = () => made.setAttribute("href", here(host.uuid));
    aim();
    // a field that was just left may say something else by now
    made.addEventListener("click", aim);
    if (host.uuid === tree?.root) made.setAttribute("aria-current", "true");
    const states = statesOf(host, traits.of(DISABLED));
    return [
      made,
      ...classes.map((name) => share(host, name)),
      element("span", { class: states[0] === "over" ? "bad" : "quiet" }, states.map((state) => STATES.get(state)).join(", ")),
      aggregatesOf(host),
    ];
  }

  function list() {
    if (!live.complete) {
      if (live.error) show(found, reasonOf(live.error));
      else tellReading(found, live);
      return;
    }
    const { cloud } = live;
    const values = fields.values();
    const all = cloud.totals.classes;
    const common = commonClasses(all, BARS, byClass);
    // what the list is sorted by is seen
    const sorted = values.sort.split(" ")[1];
    if (all.has(sorted) && !common.includes(sorted)) common[common.length - 1] = sorted;
    if (common.join() !== classes.join()) {
      classes = common;
      hosts.setHeads(["Tree", ...classes, "State", "Aggregates"]);
    }
    fields.offer([...all.keys()].sort(byClass).slice(0, OFFERED), cloud.byAggregate(classes[0]).slice(0, OFFERED).map(([uuid]) => uuid));
    const having = values.trait ? traits.of(values.trait) : null;
    if (values.trait && !having) {
      show(found, "The trait is being looked for.");
      return;
    }
    const aggregate = names.idOf("aggregates", values.aggregate) ?? values.aggregate;
    const some = wantedOf(cloud.found(values.q), { ...values, aggregate }, { disabled: traits.of(DISABLED), having });
    hosts.set(some);
    const trees = cloud.hosts.size;
    show(
      found,
      amountsIn(values.free) === null && "Say what is to be free as CLASS:AMOUNT, with commas. ",
      !trees
        ? "There is no resource provider yet."
        : some.length === trees
          ? count(trees, "tree")
          : `${number(some.length)} of ${count(trees, "tree")}`,
    );
  }

  function open(next) {
    tree?.close();
    tree = null;
    wanted = next;
    columns.classList.toggle("whole", !wanted);
    if (!wanted) {
      show(detail);
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

  fields.set(place.query);
  open(place.path[0]);
  list();
  return {
    title: "Trees",
    node,
    go(next) {
      fields.set(next.query);
      if (next.path[0] === wanted) list();
      else open(next.path[0]);
      return true;
    },
    changed() {
      traits.changed();
      list();
      tree?.changed();
    },
    status() {
      if (!live.complete) list();
      tree?.status();
    },
    close() {
      traits.close();
      tree?.close();
    },
  };
}

/** Return the aggregates of a tree by the operator's names, or else by the beginnings of their uuids. */
function aggregatesOf({ aggregates }) {
  const shown = aggregates.map((uuid) => names.of("aggregates", uuid) ?? element("code", {}, uuid.slice(0, 8)));
  return element("span", { dir: "auto", title: aggregates.join(" ") }, shown.map((one, place) => [place ? ", " : "", one]));
}

/** Return the bar of a class, with what is free. */
function share(host, name) {
  const sums = host.classes.get(name);
  if (!sums) return "";
  const free = element("span", {}, `${freeText(host, name)} free`);
  return element("span", { class: "gauge" }, bar(sums.used, sums.capacity), free, element("span", { class: "of" }, name));
}
