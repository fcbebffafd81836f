/** Is the cloud full? Sums by class, a map of the hosts, the fullest ones, and aggregates. */

import { bar } from "../drawings/bar.js";
import { element, show } from "../dom.js";
import { keeping } from "../keeping.js";
import { failure, named, notice, tellReading, toAggregate, toTree } from "../links.js";
import { REST } from "../model/grouping.js";
import { MEASURES, Scale } from "../model/measures.js";
import { Remembered } from "../model/remembered.js";
import { TraitRoots } from "../model/trait_roots.js";
import { addressOf, refine } from "../place.js";
import { VirtualList } from "../virtual_list.js";
import { amount, byClass, count, number, percent } from "../words.js";
import { addressWith, chosenIn, choiceFields } from "./choices.js";
import { classTable } from "./class_table.js";
import { Fitting } from "./fitting.js";
import { groupsOf, headingOf } from "./groups.js";
import { Health } from "./health.js";
import { HeatMap } from "./heat_map.js";

/** so many trees without an aggregate stand in an address */
const MOST_LOST = 200;

export function cloudView(place, live) {
  live.begin();
  let chosen = chosenIn(place.query);
  /** the last sample that is drawn */
  let sample = null;
  /** what the map shows of trees */
  let scale = null;
  /** what the list shows of its trees: it may be drawn again while something else is chosen already */
  let listed = null;
  /** what a choice leaves as it is isn't looked for again */
  const [ofAggregate, ofClass, grouped] = [new Remembered(), new Remembered(), new Remembered()];
  const intro = element("div", { class: "intro" });
  const health = new Health(live);
  const classes = element("section", { class: "panel", "aria-label": "Resource classes" });
  const traits = new TraitRoots(() => draw());
  const fitting = new Fitting(() => draw());
  const fields = choiceFields(choose);
  const map = new HeatMap();
  const hosts = new VirtualList({
    label: "Trees, the fullest first",
    height: 34,
    kind: "hosts",
    cells: (host) => {
      const { class: name, scale: its } = listed;
      const sums = host.classes.get(name);
      return [
        toTree(host.uuid, host.name),
        bar(sums.used, sums.capacity),
        sums.over ? element("strong", { class: "bad" }, "over") : percent(sums.used, sums.capacity),
        amount(Math.max(sums.capacity - sums.used, 0), name),
        its.measure !== "used" && element("span", { class: "quiet", title: its.told(host) }, its.told(host)),
      ].filter(Boolean);
    },
  });
  const listTitle = element("h2");
  const aggregates = new VirtualList({
    label: "Aggregates",
    height: 34,
    kind: "aggregates",
    heads: ["Aggregate", "Trees", "", "Used", "Free"],
    cells: ([uuid, sums]) => [
      toAggregate(uuid),
      number(sums.hosts),
      bar(sums.used, sums.capacity),
      percent(sums.used, sums.capacity),
      amount(Math.max(sums.capacity - sums.used, 0), chosen.class),
    ],
  });
  const mapTitle = element("h2");
  const mapSaid = element("p", { class: "quiet" });
  const aggregatesPanel = element(
    "section",
    { class: "panel" },
    element("div", { class: "title" }, element("h2", {}, "By aggregate"), element("a", { href: addressOf("plans", ["survives"], "each=aggregate") }, "Which of them can be lost?")),
    aggregates.node,
  );
  const rest = element(
    "div",
    { class: "panels" },
    element(
      "section",
      { class: "panel broad" },
      element("div", { class: "title" }, mapTitle, fields.node),
      mapSaid,
      map.node,
    ),
    element("section", { class: "panel" }, listTitle, hosts.node),
    aggregatesPanel,
  );
  const node = element("div", { class: "cloud" });

  function choose(some) {
    chosen = { ...chosen, ...some };
    refine(addressWith(chosen));
    draw();
  }

  function draw() {
    const { cloud } = live;
    if (!live.complete) {
      if (live.error) show(node, element("h1", {}, "Cloud"), failure(live.error));
      else tellReading(node, live, element("h1", {}, "Cloud"));
      return;
    }
    if (!cloud.hosts.size) {
      show(node, element("h1", {}, "An empty cloud"), empty());
      return;
    }
    const within = ofAggregate.of([cloud, cloud.revision, chosen.aggregate], () => [...cloud.within(chosen.aggregate)]);
    const sums = cloud.totalsWithin(chosen.aggregate).classes;
    const names = [...sums.keys()].sort(byClass);
    if (!sums.has(chosen.class)) chosen.class = names[0] ?? "";
    if (!node.contains(intro)) show(node, intro, health.node, classes, rest);
    keeping(intro, () => show(intro, headline(cloud, within, sums, chosen.aggregate)));
    health.draw();
    sample = live.trend.samples.at(-1);
    const take = (name) => choose({ class: name });
    keeping(classes, () => show(classes, names.length ? classTable(names, sums, chosen.aggregate ? null : live.trend, chosen.class, take) : stockless()));
    rest.hidden = !names.length;
    if (!names.length) return;
    fields.set(chosen, names);
    const having = ofClass.of([within, chosen.class], () =>
      sums.get(chosen.class).trees === within.length ? within : within.filter(({ classes: own }) => own.has(chosen.class)));
    show(mapTitle, `${count(having.length, "tree")} with ${chosen.class}`);
    const groups = drawMap(having);
    list(chosen.in && groups ? groups.flatMap(({ hosts: own }) => own) : having);
    const found = chosen.aggregate ? [] : cloud.byAggregate(chosen.class);
    aggregatesPanel.hidden = !found.length;
    rest.classList.toggle("alone", !found.length);
    aggregates.set(found);
  }

  /** List the trees that the map shows, beginning with those that have most of what it shows. */
  function list(shown) {
    const { first, label } = MEASURES.get(chosen.show);
    const isUsed = chosen.show === "used";
    if (listTitle.textContent !== first) {
      show(listTitle, first);
      hosts.node.classList.toggle("measured", !isUsed);
      hosts.node.setAttribute("aria-label", `Trees, ${first.toLowerCase()}`);
      hosts.setHeads(["Tree", "", "Used", "Free", ...(isUsed ? [] : [label])]);
    }
    listed = { class: chosen.class, scale };
    hosts.set(scale.downward(shown));
  }

  /** Return the links above a map that shows one group. */
  function ofOneGroup(groups) {
    const all = element("a", { href: addressWith(chosen, { in: "" }) }, "Show all groups");
    const [group] = groups?.length === 1 ? groups : [];
    return [all, group && toLoss(group.hosts, chosen.by === "aggregate" && group.key !== REST ? group.key : null)];
  }

  function drawMap(having) {
    const fits = chosen.show === "fits" ? fitting.of(chosen.flavor, having) : null;
    const all = grouped.of([having, chosen.class, chosen.by, chosen.like, traits.revision], () => groupsOf(having, chosen, traits));
    const groups = chosen.in && all ? all.filter(({ key }) => key === chosen.in) : all;
    const said = [
      chosen.show === "fits" && !fits && (chosen.flavor ? (fitting.error ?? "It is being counted.") : "Say what one server needs."),
      chosen.by === "trait" && (!chosen.like ? "Say what the traits begin with." : groups === null && "The traits are being read."),
      ...(chosen.by && chosen.in ? ofOneGroup(groups) : []),
    ].filter(Boolean);
    show(mapSaid, said.map((text, at) => [at ? " " : "", text]));
    mapSaid.hidden = !said.length;
    scale = new Scale(chosen.show, chosen.class, having, fits);
    keeping(map.shown, () => map.set(groups ?? [], scale, (group) => headingOf(group, chosen)));
    return groups;
  }

  draw();
  return {
    title: "Cloud",
    node,
    go(next) {
      chosen = chosenIn(next.query);
      draw();
      return true;
    },
    changed() {
      traits.changed();
      fitting.changed();
      health.changed();
      draw();
    },
    status() {
      if (!live.complete || sample !== live.trend.samples.at(-1)) draw();
      else health.draw();
    },
    close() {
      map.close();
      traits.close();
      fitting.close();
      health.close();
    },
  };
}

function share({ used, capacity }) {
  if (capacity > 0) return used / capacity;
  return used > 0 ? Infinity : -1;
}

function headline(cloud, within, sums, aggregate) {
  const over = within.filter((host) => host.over > 0);
  const fullest = [...sums]
    .filter(([, { used, capacity }]) => used > 0 && capacity > 0)
    .sort(([, one], [, other]) => share(other) - share(one))[0];
  return [
    element("h1", {}, aggregate ? `${count(within.length, "tree")} of an aggregate` : "Cloud"),
    element(
      "p",
      { class: "quiet" },
      aggregate
        ? [named("aggregates", aggregate), " ", element("a", { href: addressOf("cloud") }, "Show all trees"), " ", toLoss(within, aggregate)]
        : `${count(cloud.hosts.size, "tree")} of ${count(cloud.providers, "provider")}.`,
      fullest && ` ${fullest[0]} is the fullest class: ${percent(fullest[1].used, fullest[1].capacity)} used.`,
    ),
    over.length > 0 &&
      element(
        "p",
        { class: "notice bad" },
        `${count(over.length, "tree")} ${over.length === 1 ? "has" : "have"} more in use than there is: `,
        over.slice(0, 5).map((host, place) => [place ? ", " : "", toTree(host.uuid, host.name)]),
        over.length > 5 ? ` and ${number(over.length - 5)} more.` : ".",
      ),
  ];
}

/**
 * Return a link to what would be if these were lost, or why there is none; null if there are no hosts.
 * @param {Array} hosts
 * @param {string|null} aggregate that they are: the address then has it in their place
 */
function toLoss(hosts, aggregate) {
  if (!hosts.length) return null;
  // an address has no room for more
  if (!aggregate && hosts.length > MOST_LOST) return element("span", { class: "quiet" }, `The loss of more than ${MOST_LOST} hosts is judged if they are an aggregate.`);
  const query = new URLSearchParams({ each: "these", sets: aggregate ?? hosts.map(({ uuid }) => uuid).join(",") });
  return element("a", { href: addressOf("plans", ["survives"], query) }, "Can they be lost?");
}

function stockless() {
  return element("p", {}, "No provider here has an inventory yet. Agents report what their hosts have.");
}

function empty() {
  return notice(
    "Placement has no resource provider yet. Agents make them at their first start: nova-compute, or ",
    element("code", {}, "berth-compute"),
    ". By hand: ",
    element("code", {}, "openstack resource provider create NAME"),
    ".",
  );
}
