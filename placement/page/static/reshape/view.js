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
  const file = element("input", {
    type: "file",
    accept: ".json,application/json",
    // the same file is read again when it is chosen again
    click: () => (file.value = ""),
    change: () => read(file.files[0]),
  });
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

  let last = null;
  async function read(chosen) {
    if (!chosen) return;
    last = chosen;
    let made;
    try {
      made = drawn(rehearsal(await text(chosen)));
    } catch (error) {
      made = failure(error);
    }
    if (last === chosen) show(found, made);
  }

  // a file that misses the panel would be opened instead of this page, which would forget its token
  const closed = new AbortController();
  for (const type of ["dragover", "drop"]) {
    addEventListener(type, (event) => event.preventDefault(), { signal: closed.signal });
  }

  return {
    title: "Reshape",
    node: element("div", { class: "reshapes" }, element("h1", {}, "What will a reshape move?"), drop, found),
    go: () => true,
    close: () => closed.abort(),
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
      (node) =>
        typeof node?.node === "string" &&
        LISTS.every((key) => Array.isArray(node[key])) &&
        [...node.before, ...node.after].every(isProvider) &&
        Object.values(node.moves ?? {}).every(Array.isArray),
    );
  if (!isOne) throw new Error(`This file isn't what ${COMMAND} writes.`);
  return found;
}

function isProvider(one) {
  return (
    [one?.uuid, one?.name].every((value) => typeof value === "string") &&
    [one.inventories, one.used, one.allocations].every((map) => typeof map === "object" && map !== null)
  );
}

function drawn({ host, nodes, dry_run: isRehearsal }) {
  const written = isRehearsal ? "Nothing was written yet." : "This was written to placement.";
  return [
    element("p", { class: "quiet" }, `${count(nodes.length, "node")} of ${host}. ${written}`),
    nodes.length ? nodes.map((node) => drawReshape(node)) : notice("This host has no node."),
  ];
}
