/** What forms are made of. */

import { element } from "./dom.js";

/** Return a labelled input. */
export function field(label, made) {
  return element("label", { class: "field" }, element("span", {}, label), made);
}

export function input(properties) {
  return element("input", { autocomplete: "off", spellcheck: "false", ...properties });
}
