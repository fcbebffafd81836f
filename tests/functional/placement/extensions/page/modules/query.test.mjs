import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, queryOf, relaxed } from "../../../../../../placement/extensions/page/static/model/query.js";
import { addressOf, placeOf } from "../../../../../../placement/extensions/page/static/place.js";

const QUERIES = [
  "resources=VCPU:1",
  "resources=VCPU:1,MEMORY_MB:512&required=A,!B&member_of=in:x,y",
  "resources_GPU=VGPU:1&required_GPU=A&group_policy=none",
  "resources=VCPU:1&required=A&required=in:B,C",
  "resources=VCPU:1&resources_GPU=VGPU:1&member_of_GPU=x&resources2=PCPU:2&required2=!A&group_policy=isolate",
  "resources_GPU=VGPU:1&required_GPU=A&required_GPU=B&same_subtree=_GPU,_NET&in_tree_GPU=x",
  "resources=VCPU:1&member_of=x&member_of=!y&limit=5",
];

for (const query of QUERIES) {
  test(`the form keeps ${query}`, () => {
    assert.deepEqual(
      [...new URLSearchParams(queryOf(fieldsOf(query)))].sort(),
      [...new URLSearchParams(query)].sort(),
    );
  });
}

test("a trait of several is dropped", () => {
  assert.equal(relaxed("resources=VCPU:1&required=A,B,!C", { drop: "required=!C" }), "resources=VCPU:1&required=A,B");
  assert.equal(relaxed("resources=VCPU:1&required=A", { drop: "required=A" }), "resources=VCPU:1");
});

test("a whole value is dropped before a part of another", () => {
  const query = "resources=VCPU:1&required=A,B&required=in:A,B";
  assert.equal(relaxed(query, { drop: "required=in:A,B" }), "resources=VCPU:1&required=A,B");
});

test("an amount is lowered in its group alone", () => {
  const query = "resources=VCPU:8&resources_1=VCPU:8";
  assert.equal(relaxed(query, { lower: "VCPU", to: 4, group: "_1" }), "resources=VCPU:8&resources_1=VCPU:4");
  assert.equal(relaxed(query, { lower: "VCPU", to: 4 }), "resources=VCPU:4&resources_1=VCPU:8");
});

test("an amount is raised, and a parameter comes in place of another", () => {
  assert.equal(relaxed("resources=VCPU:6", { raise: "VCPU", to: 8 }), "resources=VCPU:8");
  assert.equal(
    relaxed("resources=VCPU:1&group_policy=isolate", { drop: "group_policy=isolate", add: "group_policy=none" }),
    "resources=VCPU:1&group_policy=none",
  );
});

test("addresses are read as they are written", () => {
  const address = addressOf("trees", ["a/b?c"], new URLSearchParams({ q: "x&y" }));
  const place = placeOf(address);
  assert.deepEqual([place.view, place.path, place.query.get("q")], ["trees", ["a/b?c"], "x&y"]);
  assert.equal(placeOf("").view, "cloud");
  assert.deepEqual(placeOf("#/trees/%zz").path, ["%zz"]);
});
