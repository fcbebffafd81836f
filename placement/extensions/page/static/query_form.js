/** The form of a query for allocation candidates, shared by the views Why and Capacity. */

import { element, show } from "./dom.js";
import { fieldsOf, queryOf } from "./model/query.js";
import { ask } from "./session.js";
import { amount as sizeOf, isSize } from "./words.js";

/**
 * Return `{node, set}` of the form; `set` puts a query into its fields.
 * @param {object} options
 * @param {string} options.go what the button says
 * @param {function(string): void} options.use takes the query
 * @param {Node} [options.more] further fields
 */
export function queryForm({ go, use, more }) {
  const classes = element("datalist", { id: "classes" });
  const traitNames = element("datalist", { id: "traits" });
  const resources = element("div", { class: "resources" });
  const traits = input({ list: "traits", placeholder: "HW_CPU_X86_AVX2,!CUSTOM_OLD" });
  const aggregates = input({ placeholder: "in:<uuid>,<uuid>" });
  const others = input({ placeholder: "resources_GPU=VGPU:1" });
  const add = element(
    "button",
    { type: "button", class: "plain", click: () => resourceRow().querySelector("input").focus() },
    "Add a resource class",
  );

  function resourceRow(name = "", amount = "") {
    const size = element("span", { class: "size quiet" });
    const tell = () => {
      const [what, much] = [...row.querySelectorAll("input")].map(({ value }) => value.trim());
      show(size, isSize(what) && Number(much) > 0 && sizeOf(Number(much), what));
    };
    const row = element(
      "div",
      { class: "resource", input: tell },
      input({ list: "classes", value: name, "aria-label": "Resource class", required: true }),
      input({ type: "number", min: 1, value: amount, "aria-label": "Amount", required: true }),
      element(
        "button",
        { type: "button", class: "plain", "aria-label": "Remove this resource class", click: () => (row.remove(), add.focus()) },
        "×",
      ),
      size,
    );
    tell();
    resources.append(row);
    return row;
  }

  function query() {
    return queryOf({
      resources: [...resources.children].map((row) => {
        const [name, amount] = row.querySelectorAll("input");
        return [name.value.trim(), amount.value];
      }),
      traits: traits.value.trim(),
      aggregates: aggregates.value.trim(),
      more: others.value.trim(),
    });
  }

  const node = element(
    "form",
    {
      class: "panel query",
      submit: (event) => {
        event.preventDefault();
        use(query());
      },
    },
    element("fieldset", {}, element("legend", {}, "Resources"), resources, add),
    field("Traits (! before one it must not have)", traits),
    field("Aggregates (member_of)", aggregates),
    field("More of the query, such as groups", others),
    more,
    element("button", { class: "go" }, go),
    classes,
    traitNames,
  );
  suggest(classes, traitNames).catch(() => {});
  return {
    node,
    set(text) {
      const fields = fieldsOf(text);
      show(resources);
      const rows = text ? fields.resources : [["VCPU", 1]];
      for (const [name, amount] of rows) resourceRow(name, amount);
      traits.value = fields.traits;
      aggregates.value = fields.aggregates;
      others.value = fields.more;
    },
  };
}

/** Return a labelled input. */
export function field(label, made) {
  return element("label", { class: "field" }, element("span", {}, label), made);
}

export function input(properties) {
  return element("input", { autocomplete: "off", spellcheck: "false", ...properties });
}

async function suggest(classes, traitNames) {
  const [{ resource_classes: found }, { traits }] = await Promise.all([
    ask("resource_classes"),
    ask("traits?associated=true"),
  ]);
  show(classes, found.map(({ name }) => element("option", { value: name })));
  show(traitNames, traits.map((name) => element("option", { value: name })));
}
