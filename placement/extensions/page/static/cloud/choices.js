/** What the map shows, and how it groups trees: choices, which stand in the address. */

import { element } from "../dom.js";
import { measureOf, MEASURES } from "../model/measures.js";
import { addressOf } from "../place.js";

export const GROUPINGS = new Map([
  ["", "Not grouped"],
  ["aggregate", "By aggregate"],
  ["name", "By name"],
  ["trait", "By trait"],
]);
/** choices, as the address has them: those that are empty aren't written */
const KEPT = ["class", "aggregate", "show", "flavor", "by", "like", "in"];

/** Return what an address chooses. */
export function chosenIn(query) {
  const chosen = Object.fromEntries(KEPT.map((key) => [key, query.get(key) ?? ""]));
  chosen.show = measureOf(chosen.show);
  if (!GROUPINGS.has(chosen.by)) chosen.by = "";
  return chosen;
}

/** Return the address of choices, some of them replaced. */
export function addressWith(chosen, others = {}) {
  const all = { ...chosen, ...others };
  if (all.show === "used") all.show = "";
  return addressOf("cloud", [], new URLSearchParams(KEPT.filter((key) => all[key]).map((key) => [key, all[key]])));
}

/**
 * Return `{node, set}` of the fields above the map.
 * @param {function(object): void} choose is called with what was chosen: `{class}` and so on
 */
export function choiceFields(choose) {
  const select = (key, options) =>
    element("select", { change: ({ target }) => choose({ [key]: target.value }) }, options);
  const text = (key, placeholder) =>
    element("input", { placeholder, spellcheck: "false", autocomplete: "off", change: ({ target }) => choose({ [key]: target.value.trim() }) });
  const shown = [...MEASURES].map(([value, { label }]) => element("option", { value }, label));
  const ways = [...GROUPINGS].map(([value, label]) => element("option", { value }, label));
  const fields = {
    show: select("show", shown),
    class: select("class", []),
    flavor: text("flavor", "VCPU:4,MEMORY_MB:8192"),
    by: element("select", { change: ({ target }) => choose({ by: target.value, like: "", in: "" }) }, ways),
    like: text("like", ""),
  };
  const labelled = (label, field) => element("label", {}, `${label} `, field);
  const flavor = labelled("Flavor", fields.flavor);
  const words = element("span");
  const like = element("label", {}, words, " ", fields.like);
  const node = element(
    "div",
    { class: "choices" },
    labelled("Show", fields.show),
    labelled("Resource class", fields.class),
    flavor,
    labelled("Group", fields.by),
    like,
  );

  /** Show what is chosen; `names` are those of the classes. */
  function set(chosen, names) {
    // somebody may be choosing just now
    if (names.join() !== [...fields.class.options].map(({ value }) => value).join()) {
      fields.class.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
    }
    for (const [key, field] of Object.entries(fields)) {
      if (field !== document.activeElement || field.tagName === "SELECT") field.value = chosen[key];
    }
    flavor.hidden = chosen.show !== "fits";
    like.hidden = chosen.by !== "name" && chosen.by !== "trait";
    words.textContent = chosen.by === "trait" ? "Trait begins with" : "Name is like";
    fields.like.placeholder = chosen.by === "trait" ? "CUSTOM_RACK_" : "rack*-";
  }

  return { node, set };
}
