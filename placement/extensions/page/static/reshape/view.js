/** What will this reshape move? It draws what a rehearsal wrote. No request is sent. */

import { drawReshapes } from "../drawings/reshape.js";
import { element, show } from "../dom.js";
import { failure, notice } from "../links.js";
import { COMMAND, rehearsal } from "../model/rehearsal.js";
import { count } from "../words.js";

/** bytes of a file that the page reads */
const LONGEST = 64 * 2 ** 20;

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

function drawn({ host, nodes, dry_run: isRehearsal }) {
  const written = isRehearsal ? "Nothing was written yet." : "This was written to placement.";
  return [
    element("p", { class: "quiet" }, `${count(nodes.length, "node")} of ${host}. ${written}`),
    nodes.length ? drawReshapes(nodes) : notice("This host has no node."),
  ];
}
