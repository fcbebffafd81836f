/** A host as a picture: its NUMA cells side by side, devices below their cell, the rest beside. */

import { drawn, element } from "../dom.js";
import { amount, count, percent, shortened } from "../words.js";
import { level } from "./bar.js";
import { addSome, Extent } from "./listed.js";
import { family, stockOf, withAllBelow } from "./provider.js";

/** so many are drawn before one asks for more */
const CELLS_SHOWN = 16;
const DEVICES_SHOWN = 12;
const NAMES_SHOWN = 20;
const GAUGES_SHOWN = 8;
/** holders with a segment of their own; all others share one */
const SEGMENTS = 60;
/** so many units are boxes, more of them a bar */
const BOXES = 8;
const OF_CELLS = ["VCPU", "PCPU", "MEMORY_MB"];

/** Return an extent for pictures: there is a list of all providers beside. */
export function pictureExtent() {
  return new Extent(150);
}

/**
 * Return the picture of a tree; see `drawTree` for `links`.
 * @param {Array} providers see provider.js
 */
export function drawHost(providers, links = {}) {
  const { roots, children } = family(providers);
  const own = { consumer: (uuid) => element("code", {}, uuid), ...links, extent: links.extent ?? pictureExtent(), children };
  own.extent.begin();
  return element("div", { class: "pictures" }, roots.slice(0, CELLS_SHOWN).map((root) => hostOf(root, own)));
}

/** Return the NUMA cells of a host, and what else is directly below it. */
export function partsOf(root, children) {
  const below = children.get(root.uuid) ?? [];
  const isCell = ({ inventories, traits = [] }) =>
    traits.includes("HW_NUMA_ROOT") || OF_CELLS.some((name) => name in inventories);
  return { cells: below.filter(isCell), beside: below.filter((provider) => !isCell(provider)) };
}

function hostOf(root, links) {
  const { cells, beside } = partsOf(root, links.children);
  const list = element("ul", { class: "cells" });
  const draw = (cell) =>
    element(
      "li",
      {},
      cellName(cell, root),
      gauges(cell, links),
      devices(withAllBelow(links.children.get(cell.uuid) ?? [], links.children), cell, root, links),
    );
  addSome(list, cells, draw, { key: `cells of ${root.uuid}`, step: CELLS_SHOWN, extent: links.extent });
  return element(
    "div",
    { class: "host" },
    gauges(root, links),
    cells.length > 0 && list,
    devices(withAllBelow(beside, links.children), { uuid: `beside ${root.uuid}` }, root, links),
  );
}

/** Return the name of a part without what it has from its host. */
function cellName({ name }, root) {
  const short = name.startsWith(root.name) ? name.slice(root.name.length).replace(/^[^0-9A-Za-z]+/, "") : name;
  return element("p", { class: "part", dir: "auto", title: name }, shortened(short || name, 36));
}

function gauges(provider, links) {
  const rows = stockOf(provider);
  if (!rows.length) return null;
  const list = element("ul", { class: "gauges" });
  const draw = (row) => element("li", {}, gauge(provider, row, links));
  addSome(list, rows, draw, { key: `gauges of ${provider.uuid}`, step: GAUGES_SHOWN, extent: links.extent });
  return list;
}

/** Return a bar with a segment for each holder; unfolded it has their names. */
function gauge(provider, { name, used, room }, links) {
  const holdersOfIt = Object.entries(provider.allocations ?? {})
    .filter(([, amounts]) => amounts[name])
    .map(([uuid, amounts]) => [uuid, amounts[name]])
    .sort(([, one], [, other]) => other - one);
  const names = element("div");
  const unfold = ({ currentTarget: one }) => {
    if (!one.open || names.firstChild) return;
    names.append(holdersOfIt.length ? namesOf(holdersOfIt, provider, name, links) : "Nobody holds any.");
  };
  return element(
    "details",
    { class: `gauge ${level(used, room)}`, "data-key": `picture ${provider.uuid} ${name}`, toggle: unfold },
    element(
      "summary",
      {},
      element("span", { class: "class" }, name),
      segmented(holdersOfIt, name, used, room),
      element("span", { class: "figures" }, `${amount(used, name)} / ${amount(room, name)}, ${percent(used, room)}`),
    ),
    names,
  );
}

function namesOf(held, provider, name, links) {
  const list = element("ul", { class: "held" });
  const draw = ([uuid, value]) => element("li", {}, links.consumer(uuid), element("span", { class: "figures" }, amount(value, name)));
  addSome(list, held, draw, { key: `names of ${provider.uuid} ${name}`, step: NAMES_SHOWN, extent: links.extent });
  return list;
}

function segmented(held, name, used, room) {
  const whole = Math.max(used, room, 1);
  const some = held.slice(0, SEGMENTS);
  const told = some.reduce((sum, [, value]) => sum + value, 0);
  const segments = some.map(([uuid, value]) => [value, `${uuid}: ${amount(value, name)}`]);
  if (used > told) segments.push([used - told, held.length ? `${count(held.length - some.length, "more holder")}` : "in use"]);
  let x = 0;
  const boxes = whole <= BOXES ? Array.from({ length: whole - 1 }, (_, place) => (100 * (place + 1)) / whole) : [];
  return drawn(
    "svg",
    { class: "segments", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("rect", { class: "room", width: 100, height: 10 }),
    segments.map(([value, title]) => {
      const width = (100 * value) / whole;
      const made = drawn("rect", { class: "segment", x, width, height: 10 }, drawn("title", {}, title));
      x += width;
      return made;
    }),
    boxes.map((at) => drawn("line", { class: "edge", x1: at, x2: at, y1: 0, y2: 10 })),
    used > room && drawn("rect", { class: "beyond", x: (100 * Math.max(room, 0)) / whole, width: (100 * (used - Math.max(room, 0))) / whole, height: 10 }),
  );
}

function devices(all, { uuid }, root, links) {
  const some = all.filter((provider) => stockOf(provider).length);
  if (!some.length) return null;
  const list = element("ul", { class: "devices" });
  const draw = (device) => element("li", {}, cellName(device, root), gauges(device, links));
  addSome(list, some, draw, { key: `devices of ${uuid}`, step: DEVICES_SHOWN, extent: links.extent });
  return list;
}
