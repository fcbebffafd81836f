/** Is the cloud full? Sums by class, a map of the hosts, the fullest ones, and aggregates. */

import { bar, level } from "../drawings/bar.js";
import { element, show } from "../dom.js";
import { keeping } from "../keeping.js";
import { copyable, failure, notice, toAggregate, toTree } from "../links.js";
import { sumsOf } from "../model/cloud.js";
import { addressOf, refine } from "../place.js";
import { VirtualList } from "../virtual_list.js";
import { amount, byClass, count, isSize, number, percent } from "../words.js";
import { HeatMap } from "./heat_map.js";

export function cloudView(place, live) {
  live.begin();
  let { aggregate, resourceClass } = asked(place);
  const intro = element("div", { class: "intro" });
  const classes = element("section", { class: "panel", "aria-label": "Resource classes" });
  const choice = element("select", { change: () => choose(choice.value) });
  const map = new HeatMap();
  const hosts = new VirtualList({
    label: "Trees, the fullest first",
    height: 34,
    kind: "hosts",
    heads: ["Tree", "", "Used", "Free"],
    cells: ({ uuid, name, sums }) => [
      toTree(uuid, name),
      bar(sums.used, sums.capacity),
      sums.over ? element("strong", { class: "bad" }, "over") : percent(sums.used, sums.capacity),
      amount(Math.max(sums.capacity - sums.used, 0), resourceClass),
    ],
  });
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
      amount(Math.max(sums.capacity - sums.used, 0), resourceClass),
    ],
  });
  const mapTitle = element("h2");
  const aggregatesPanel = element(
    "section",
    { class: "panel" },
    element("h2", {}, "By aggregate"),
    aggregates.node,
  );
  const rest = element(
    "div",
    { class: "panels" },
    element(
      "section",
      { class: "panel broad" },
      element(
        "div",
        { class: "title" },
        mapTitle,
        element("label", {}, "Resource class ", choice),
      ),
      map.node,
    ),
    element("section", { class: "panel" }, element("h2", {}, "The fullest first"), hosts.node),
    aggregatesPanel,
  );
  const node = element("div", { class: "cloud" });

  function asked({ query }) {
    return { aggregate: query.get("aggregate"), resourceClass: query.get("class") };
  }

  function choose(name) {
    resourceClass = name;
    const query = new URLSearchParams({ class: name });
    if (aggregate) query.set("aggregate", aggregate);
    refine(addressOf("cloud", [], query));
    draw();
  }

  function draw() {
    const { cloud } = live;
    if (!live.complete) {
      const said = live.error ? failure(live.error) : notice("The trees are being read.");
      show(node, element("h1", {}, "Cloud"), said);
      return;
    }
    if (!cloud.hosts.size) {
      show(node, element("h1", {}, "An empty cloud"), empty());
      return;
    }
    const within = cloud.within(aggregate);
    const sums = sumsOf(within);
    const names = [...sums.keys()].sort(byClass);
    if (!sums.has(resourceClass)) resourceClass = names[0];
    if (!node.contains(intro)) show(node, intro, classes, rest);
    keeping(intro, () => show(intro, headline(cloud, within, sums, aggregate)));
    keeping(classes, () => show(classes, names.length ? classTable(names, sums, resourceClass, choose) : stockless()));
    // somebody may be choosing just now
    if (names.join() !== [...choice.options].map(({ value }) => value).join()) {
      show(choice, names.map((name) => element("option", { value: name }, name)));
    }
    choice.value = resourceClass;
    rest.hidden = !names.length;
    const having = within
      .filter(({ classes: own }) => own.has(resourceClass))
      .map((host) => ({ uuid: host.uuid, name: host.name, sums: host.classes.get(resourceClass) }));
    show(mapTitle, `${count(having.length, "tree")} with ${resourceClass ?? "nothing"}`);
    map.set(having, resourceClass);
    hosts.set([...having].sort(byShare));
    const found = aggregate ? [] : cloud.byAggregate(resourceClass);
    aggregatesPanel.hidden = !found.length;
    rest.classList.toggle("alone", !found.length);
    aggregates.set(found);
  }

  draw();
  return {
    title: "Cloud",
    node,
    go(next) {
      ({ aggregate, resourceClass } = asked(next));
      draw();
      return true;
    },
    changed: draw,
    status: () => live.complete || draw(),
    close: () => map.close(),
  };
}

/** Compare trees: the fullest first. */
function byShare({ sums: one }, { sums: other }) {
  const [mine, its] = [share(one), share(other)];
  return mine === its ? 0 : its - mine;
}

function share({ used, capacity, over }) {
  if (over) return Infinity;
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
        ? [copyable(aggregate), " ", element("a", { href: addressOf("cloud") }, "Show all trees")]
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

function classTable(names, sums, chosen, choose) {
  const heads = ["Class", "", "Used", "Free", "Capacity", "Total", "Reserved", "Over"];
  return element(
    "div",
    { class: "wide", tabindex: 0, role: "group", "aria-label": "Resource classes" },
    element(
      "table",
      { class: "classes" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          heads.map((head, column) => element(head ? "th" : "td", { scope: head ? "col" : null, class: column > 1 && "number" }, head)),
        ),
      ),
      element(
        "tbody",
        {},
        names.map((name) => {
          const one = sums.get(name);
          const figure = (value, ...more) =>
            element("td", { class: "number" }, amount(value, name), more, isSize(name) && value > 0 && element("small", {}, number(value)));
          return element(
            "tr",
            { class: level(one.used, one.capacity) },
            element(
              "th",
              { scope: "row" },
              element(
                "button",
                { type: "button", class: "choice", "aria-pressed": String(name === chosen), click: () => choose(name) },
                name,
              ),
            ),
            element("td", { class: "wide-bar" }, bar(one.used, one.capacity)),
            figure(one.used, ` · ${percent(one.used, one.capacity)}`),
            figure(Math.max(one.capacity - one.used, 0)),
            figure(one.capacity),
            figure(one.total),
            figure(one.reserved),
            element("td", { class: one.over ? "number bad" : "number quiet" }, one.over ? count(one.over, "inventory", "inventories") : "–"),
          );
        }),
      ),
    ),
  );
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
