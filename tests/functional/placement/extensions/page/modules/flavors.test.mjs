import assert from "node:assert/strict";
import { test } from "node:test";
import { flavorOf, histogram } from "../../../../../../placement/extensions/page/static/model/flavors.js";

test("a line is a flavor, with a name or without one", () => {
  const query = "resources=VCPU%3A4%2CMEMORY_MB%3A8";
  assert.deepEqual(flavorOf(" m1.large  VCPU:4,MEMORY_MB:8 "), { name: "m1.large", query });
  assert.deepEqual(flavorOf("VCPU:4,MEMORY_MB:8"), { name: "VCPU:4,MEMORY_MB:8", query });
  assert.deepEqual(flavorOf("gold resources=VCPU:4&required=A"), { name: "gold", query: "resources=VCPU:4&required=A" });
});

test("amounts with blanks between them are all counted", () => {
  const query = "resources=VCPU%3A4%2CMEMORY_MB%3A8";
  assert.deepEqual(flavorOf("VCPU:4, MEMORY_MB:8"), { name: "VCPU:4, MEMORY_MB:8", query });
  assert.deepEqual(flavorOf("m1.large VCPU:4 , MEMORY_MB:8"), { name: "m1.large", query });
  // the service refuses what isn't separated by commas
  assert.equal(flavorOf("VCPU:4 MEMORY_MB:8").query, "resources=VCPU%3A4+MEMORY_MB%3A8");
});

test("a few numbers have a bar each, many share one", () => {
  assert.deepEqual(histogram([]), []);
  assert.deepEqual(histogram([3, 1, 3]), [
    { from: 1, to: 1, trees: 1 },
    { from: 2, to: 2, trees: 0 },
    { from: 3, to: 3, trees: 2 },
  ]);
  const many = histogram(Array.from({ length: 10_000 }, (_, place) => 1 + (place % 95)));
  assert.equal(many.length, 10);
  assert.equal(many.reduce((sum, { trees }) => sum + trees, 0), 10_000);
  assert.deepEqual([many[0].from, many[0].to, many[9].to], [1, 10, 95]);
});
