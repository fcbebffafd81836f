/** The fields above the list of trees: what it shows, and in which order. They stand in the address. */

import { element } from "../dom.js";
import { names } from "../model/names.js";
import { STATES } from "../model/states.js";

/** parameters of the address, in the order of the fields */
export const KEPT = ["q", "sort", "state", "trait", "aggregate", "free"];

/**
 * Return `{node, values, set, offer}` of the fields.
 * @param {function(): void} changed is called when somebody changed one
 * @param {function(): void} down is called when somebody wants to go on to the list
 */
export function filterFields(changed, down) {
  const options = (pairs) => pairs.map(([value, label]) => element("option", { value }, label));
  const aggregates = element("datalist", { id: "known-aggregates" });
  const text = (more) => element("input", { spellcheck: "false", autocomplete: "off", change: changed, ...more });
  const fields = {
    q: text({
      type: "search",
      "aria-label": "Search by name or uuid of any provider",
      placeholder: "Name or uuid",
      input: changed,
    }),
    sort: element("select", { change: changed }, options([["", "name"]])),
    state: element("select", { change: changed }, options([["", "any"], ...STATES])),
    trait: text({ placeholder: "CUSTOM_RACK_7" }),
    aggregate: text({ placeholder: "Name or uuid", list: aggregates.id }),
    free: text({ placeholder: "VCPU:4,MEMORY_MB:8192" }),
  };
  const labelled = (label, field) => element("label", {}, `${label} `, field);
  const node = element(
    "div",
    {
      class: "filters",
      keydown(event) {
        if (event.key !== "ArrowDown" || event.target.tagName === "SELECT" || event.target.hasAttribute("list")) return;
        event.preventDefault();
        // what was changed is told first: it draws the list anew
        event.target.blur();
        down();
      },
    },
    fields.q,
    labelled("Sort by", fields.sort),
    labelled("State", fields.state),
    labelled("Trait", fields.trait),
    labelled("Aggregate", fields.aggregate),
    labelled("Free at least", fields.free),
    aggregates,
  );

  return {
    node,
    values: () => Object.fromEntries(KEPT.map((key) => [key, fields[key].value.trim()])),
    set(query) {
      for (const key of KEPT) {
        const value = query.get(key) ?? "";
        // a class that isn't common may be meant
        if (key === "sort" && ![...fields.sort.options].some((option) => option.value === value)) {
          fields.sort.append(...options([[value, value]]));
        }
        fields[key].value = value;
      }
    },
    /** Offer what this cloud has to choose from. */
    offer(classes, uuids) {
      const sorts = [
        ["", "name"],
        ...classes.flatMap((name) => [[`used ${name}`, `${name}, fullest first`], [`free ${name}`, `${name}, most free first`]]),
        ["state", "state"],
        ["aggregate", "aggregate"],
      ];
      const { value } = fields.sort;
      if (sorts.map(([key]) => key).join() === [...fields.sort.options].map((option) => option.value).join()) return;
      if (!sorts.some(([key]) => key === value)) sorts.push([value, value]);
      fields.sort.replaceChildren(...options(sorts));
      fields.sort.value = value;
      aggregates.replaceChildren(...uuids.map((uuid) => element("option", { value: uuid }, names.of("aggregates", uuid))));
    },
  };
}
