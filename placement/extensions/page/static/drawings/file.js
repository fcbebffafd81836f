/** What the files of `nova-manage placement … --html` run: they draw the data that stands in them. */

import { element, show } from "../dom.js";
import { count } from "../words.js";
import { drawHost } from "./host.js";
import { drawReshapes } from "./reshape.js";
import { drawTree } from "./tree.js";

/** Draw the data of a file into its `main`. */
export function drawFile(data, main) {
  const heading = element(
    "header",
    { class: "about" },
    element("h1", {}, data.title),
    element("p", { class: "quiet" }, `${data.command}, ${data.written}`),
  );
  show(main, heading, data.nodes ? reshapes(data) : trees(data));
}

function trees({ trees: found, consumers }) {
  if (!found.length) return element("p", { class: "quiet" }, "There is no provider.");
  const links = { consumer: (uuid) => holder(uuid, consumers[uuid]) };
  // of many trees a list is enough
  return [found.length === 1 && drawHost(found[0], links), drawTree(found.flat(), links)];
}

function reshapes({ nodes, consumers }) {
  if (!nodes.length) return element("p", { class: "quiet" }, "This host has no node.");
  return [
    element("p", { class: "quiet" }, `${count(nodes.length, "node")}. Nothing was written to placement.`),
    drawReshapes(nodes, (uuid) => holder(uuid, consumers[uuid])),
  ];
}

function holder(uuid, what) {
  return [element("code", {}, uuid), what && [" ", element("span", { class: "quiet" }, what)]];
}
