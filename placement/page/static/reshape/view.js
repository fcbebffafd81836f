/** What will this reshape move? It draws what a rehearsal wrote. No request is sent. */

import { drawReshape } from "../drawings/reshape.js";
import { element, show } from "../dom.js";
import { failure, notice } from "../links.js";
import { count } from "../words.js";

const COMMAND = "nova-manage placement migrate_compute_inventory --dry-run --json > reshape.json";
/** bytes of a file that the page reads */
const LONGEST = 64 * 2 ** 20;
const LISTS = ["before", "after", "misfits"];

export function reshapeView() {
  const file = element("input", { type: "file", accept: ".json,application/json", change: () => read(file.files[0]) });
  const found = element("div");
  const drop = element(
    "section",
    {
      class: "panel drop",
      dragover: (event) => (event.preventDefault(), drop.classList.add("over-it")),
      dragleave: () => drop.classList.remove("over-it"),
      drop: (event) => {
        event.preventDefault();
        drop.classList.remove("over-it");
        read(event.dataTransfer.files[0]);
      },
    },
    element("p", {}, "Drop the file of a rehearsal here. It stays in this page. ", element("code", {}, COMMAND), " writes it."),
    element("label", { class: "field" }, element("span", {}, "File of a rehearsal"), file),
  );

  async function read(chosen) {
    if (!chosen) return;
    try {
      show(found, drawn(rehearsal(await text(chosen))));
    } catch (error) {
      show(found, failure(error));
    }
  }

  return {
    title: "Reshape",
    node: element("div", { class: "reshapes" }, element("h1", {}, "What will a reshape move?"), drop, found),
    go: () => true,
  };
}

async function text(file) {
  if (file.size > LONGEST) throw new Error(`${file.name} is larger than this page reads.`);
  return file.text();
}

/** Return what a file says; raise an Error that says what is wrong with it. */
export function rehearsal(written) {
  let found;
  try {
    found = JSON.parse(written);
  } catch {
    throw new Error(`This file isn't JSON. ${COMMAND} writes one.`);
  }
  const isOne =
    Array.isArray(found?.nodes) &&
    found.nodes.every(
      (node) => typeof node?.node === "string" && LISTS.every((key) => Array.isArray(node[key])) && [...node.before, ...node.after].every(isProvider),
    );
  if (!isOne) throw new Error(`This file isn't what ${COMMAND} writes.`);
  return found;
}

function isProvider(one) {
  return typeof one?.uuid === "string" && typeof one.name === "string" && typeof one.inventories === "object" &&
    typeof one.used === "object" && typeof one.allocations === "object";
}

function drawn({ host, nodes, dry_run: isRehearsal }) {
  const written = isRehearsal ? "Nothing was written yet." : "This was written to placement.";
  return [
    element("p", { class: "quiet" }, `${count(nodes.length, "node")} of ${host}. ${written}`),
    nodes.length ? nodes.map((node) => drawReshape(node)) : notice("This host has no node."),
  ];
}
