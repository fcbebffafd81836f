/** The same question as a query, as a command and as extra specs: each is read when it is pasted. */

import { element, show } from "./dom.js";
import { asCommand, asSpecs, ofCommand, ofSpecs } from "./model/forms.js";
import { written } from "./model/query.js";

const FORMS = [
  ["Query", (query) => ({ text: query, left: [] }), (text) => ({ query: ofQuery(text), left: [] })],
  ["Command", asCommand, (text) => ({ query: ofCommand(text), left: [] })],
  ["Extra specs of a flavor", asSpecs, ofSpecs],
];

/**
 * Return `{node, set}`.
 * @param {function(string): void} use takes the query of what was pasted
 */
export function textForms(use) {
  const wrong = element("p", { role: "alert" });
  // what was pasted is written anew without them: they are told until something else is pasted
  const without = element("p", { role: "status" });
  const made = FORMS.map(([label, as, of]) => {
    const quiet = element("span", { class: "quiet" });
    const area = element("textarea", { rows: 3, spellcheck: "false", autocomplete: "off", change: () => read(area, label, of) });
    return { as, area, quiet, node: element("label", { class: "field" }, element("span", {}, label), area, quiet) };
  });

  function read(area, label, of) {
    show(wrong);
    show(without);
    if (!area.value.trim()) return;
    try {
      const { query, left } = of(area.value.trim());
      use(query);
      show(without, left.length > 0 && leftOut(left));
    } catch (error) {
      show(wrong, `${label}: ${error.message}`);
    }
  }

  return {
    node: element("details", { class: "texts" }, element("summary", {}, "Read or paste it as text"), made.map(({ node }) => node), wrong, without),
    set(query) {
      for (const { as, area, quiet } of made) {
        const { text, left } = as(query);
        area.value = text;
        show(quiet, left.length > 0 && `Without ${[...new Set(left)].join(", ")}`);
      }
    },
  };
}

/** Say which extra specs aren't asked, and who judges them. */
function leftOut(specs) {
  return [
    "Left out of what was pasted: ",
    specs.map((spec, place) => [place ? ", " : "", element("code", {}, spec)]),
    ". Placement doesn't know them. Nova's filters and the hypervisor judge them, or nova asks placement for something else: ",
    element("code", {}, "hw:cpu_policy=dedicated"),
    " asks for PCPU, not VCPU.",
  ];
}

/** Return a query of what was pasted: it may be a whole address. */
function ofQuery(text) {
  const query = written([...new URLSearchParams(text.slice(text.indexOf("?") + 1))]);
  if (!/(^|&)resources[^=&]*=/.test(query)) throw new Error("It has no parameter resources.");
  return query;
}
