/** The form of a query for allocation candidates, shared by Why, Capacity and Plans. */

import { element, show } from "./dom.js";
import { field, input } from "./inputs.js";
import { emptyGroup, fieldsOf, queryOf } from "./model/query.js";
import { groupBox } from "./query_group.js";
import { textForms } from "./query_texts.js";
import { ask } from "./session.js";

/**
 * Return `{node, set}` of the form; `set` puts a query into its fields.
 * @param {object} options
 * @param {string} options.go what the button says
 * @param {function(string): void} options.use takes the query
 * @param {Node} [options.more] further fields
 */
export function queryForm({ go, use, more }) {
  const classes = element("datalist", { id: "classes" });
  const names = { traits: [] };
  const boxes = element("div", { class: "groups" });
  const others = input({ placeholder: "same_subtree=_NET,_GPU" });
  const policy = element(
    "select",
    {},
    [["", "not said"], ["none", "may be the same"], ["isolate", "must differ"]].map(([value, label]) => element("option", { value }, label)),
  );
  const policyField = field("Providers of different groups", policy);
  const texts = textForms((pasted) => set(pasted));
  const groups = new Map();

  function addGroup(group) {
    const box = groupBox(group, names, () => remove(box));
    groups.set(box.node, box);
    boxes.append(box.node);
    tell();
    return box;
  }

  function remove(box) {
    groups.delete(box.node);
    box.node.remove();
    tell();
    add.focus();
  }

  /** The policy matters from two groups on, and is asked for then. */
  function tell() {
    policyField.hidden = groups.size < 3 && !policy.value;
  }

  const add = element(
    "button",
    { type: "button", class: "plain", click: () => addGroup({ ...emptyGroup(nextSuffix()), resources: [["", 1]] }).focus() },
    "Add a group",
  );

  function nextSuffix() {
    const taken = new Set([...groups.values()].map((box) => box.value().suffix));
    let number = 1;
    while (taken.has(`_${number}`)) number += 1;
    return `_${number}`;
  }

  function query() {
    return queryOf({ groups: [...groups.values()].map((box) => box.value()), policy: policy.value, more: others.value.trim() });
  }

  function set(text) {
    const fields = fieldsOf(text);
    if (!text) fields.groups[0].resources = [["VCPU", 1]];
    show(boxes);
    groups.clear();
    policy.value = fields.policy;
    for (const group of fields.groups) addGroup(group);
    others.value = fields.more;
    texts.set(query());
  }

  const node = element(
    "form",
    {
      class: "panel query",
      input: ({ target }) => !texts.node.contains(target) && texts.set(query()),
      click: ({ target }) => !texts.node.contains(target) && texts.set(query()),
      submit: (event) => {
        event.preventDefault();
        use(query());
      },
    },
    boxes,
    add,
    policyField,
    field("More of the query", others),
    texts.node,
    more,
    element("button", { class: "go" }, go),
    classes,
  );
  suggest(classes, names).catch(() => {});
  return { node, set };
}

async function suggest(classes, names) {
  const [{ resource_classes: found }, { traits }] = await Promise.all([
    ask("resource_classes"),
    ask("traits?associated=true"),
  ]);
  show(classes, found.map(({ name }) => element("option", { value: name })));
  names.traits = traits;
}
