/** One group of a query: a box with its resources, traits and aggregates. */

import { element, newId, show } from "./dom.js";
import { field, input } from "./inputs.js";
import { amount as sizeOf, isSize } from "./words.js";

/**
 * Return `{node, value, focus}` of a group.
 * @param {{suffix, resources, traits, aggregates}} group see model/query.js
 * @param {{traits: string[]}} names that the cloud knows
 * @param {function(): void} remove takes the group away
 */
export function groupBox(group, names, remove) {
  const isFirst = group.suffix === "";
  const resources = element("div", { class: "resources" });
  const suffix = input({ value: group.suffix, pattern: "[1-9][0-9]*|_[A-Za-z0-9_\\-]{1,63}", required: true });
  const aggregates = input({ placeholder: "in:<uuid>,<uuid>", value: group.aggregates });
  const options = element("datalist", { id: newId("traits") });
  const traits = input({
    list: options.id,
    placeholder: "HW_CPU_X86_AVX2,!CUSTOM_OLD",
    value: group.traits,
    focus: () => complete(traits, options, names),
    input: () => complete(traits, options, names),
  });
  const add = element(
    "button",
    { type: "button", class: "plain", click: () => resourceRow("", "").querySelector("input").focus() },
    "Add a resource class",
  );

  function resourceRow(name, amount) {
    const size = element("span", { class: "size quiet" });
    const tell = () => {
      const [what, much] = values(row);
      show(size, isSize(what) && Number(much) > 0 && sizeOf(Number(much), what));
    };
    const gone = () => (row.remove(), add.focus());
    const row = element(
      "div",
      { class: "resource", input: tell },
      input({ list: "classes", value: name, "aria-label": "Resource class", required: true }),
      input({ type: "number", min: 1, value: amount, "aria-label": "Amount", required: true }),
      element("button", { type: "button", class: "plain", "aria-label": "Remove this resource class", click: gone }, "×"),
      size,
    );
    tell();
    resources.append(row);
    return row;
  }

  for (const [name, amount] of group.resources) resourceRow(name, amount);
  const node = element(
    "fieldset",
    { class: isFirst ? "group first" : "group" },
    element("legend", {}, isFirst ? "Resources" : "Resources of one provider"),
    !isFirst && field("Name of the group, such as _GPU", suffix),
    resources,
    add,
    field("Traits (! before one it must not have)", traits),
    field("Aggregates (member_of)", aggregates),
    !isFirst && element("button", { type: "button", class: "plain gone", click: remove }, "Remove this group"),
    options,
  );
  return {
    node,
    focus: () => resources.querySelector("input").focus(),
    value: () => ({
      suffix: isFirst ? "" : suffix.value.trim(),
      resources: [...resources.children].map(values),
      traits: traits.value.trim(),
      aggregates: aggregates.value.trim(),
    }),
  };
}

function values(row) {
  return [...row.querySelectorAll("input")].map(({ value }) => value.trim());
}

/** Offer the names after what is written already: a list completes its last name. */
function complete(field_, options, { traits }) {
  const begin = /^(.*[,:])?!?/.exec(field_.value)[0];
  const word = field_.value.slice(begin.length).toUpperCase();
  const found = traits.filter((name) => name.includes(word)).slice(0, 100);
  show(options, found.map((name) => element("option", { value: `${begin}${name}` })));
}
