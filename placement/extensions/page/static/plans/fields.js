/** The fields of the forms of plans. Each has the name of its parameter in the address. */

import { element, newId } from "../dom.js";
import { field, input } from "../inputs.js";

/**
 * Return fields that take their values from an address, and give them back.
 * @param {Array<[string, string, object]>} wanted label, parameter, attributes; `of: "textarea"` makes
 *   a field of several lines, `of: [[value, label]]` a choice; `hint` says what may stand in it
 * @returns {{nodes, values: function(): object, set: function(URLSearchParams): void}}
 */
export function fields(wanted) {
  const made = wanted.map(([label, parameter, { of, hint, ...more } = {}]) => [parameter, label, control(of, more), hint]);
  return {
    nodes: made.map(([, label, node, hint]) => hinted(field(label, node), node, hint)),
    values: () => Object.fromEntries(made.map(([parameter, , node]) => [parameter, node.value])),
    set(query) {
      for (const [parameter, , node] of made) {
        if (node.tagName !== "SELECT") node.value = query.get(parameter) ?? node.getAttribute("value") ?? "";
        else node.value = query.get(parameter) ?? node.options[0].value;
      }
    },
  };
}

function hinted(labelled, node, hint) {
  if (!hint) return labelled;
  const id = newId("hint");
  node.setAttribute("aria-describedby", id);
  return [labelled, element("p", { class: "quiet", id }, hint)];
}

function control(of, more) {
  if (of === "textarea") return element("textarea", { rows: 3, autocomplete: "off", spellcheck: "false", ...more });
  if (!of) return input(more);
  return element("select", more, of.map(([value, label]) => element("option", { value }, label)));
}

const MORE = "Anything else that is to be different, such as traits of a provider: what the API takes as “if”.";

/** Return the fields of a cloud that is different, folded until one of them says something. */
export function ifFields() {
  const made = fields([
    ["Without these hosts", "if_without", { placeholder: "Names or uuids, with commas" }],
    ["As if these consumers held nothing", "if_freed", { placeholder: "Uuids, with commas" }],
    ["With new hosts like this one", "if_like", { placeholder: "Name or uuid" }],
    ["So many of them", "if_count", { type: "number", min: 1, max: 100000, placeholder: "1" }],
    ["With other ratios", "if_ratios", { placeholder: "VCPU=6.0,MEMORY_MB=1.2" }],
    ["More changes, as JSON", "if_more", { of: "textarea", placeholder: '{"traits": {"<uuid>": {"add": ["CUSTOM_GOLD"]}}}', hint: MORE }],
  ]);
  const node = element("details", { class: "different" }, element("summary", {}, "What if the cloud were different?"), made.nodes);
  return {
    node,
    values: made.values,
    set(query) {
      made.set(query);
      if (Object.values(made.values()).some(Boolean)) node.open = true;
    },
  };
}
