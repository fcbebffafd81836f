import assert from "node:assert/strict";
import { test } from "node:test";
import { mixed, sizeFor } from "../../../../../../placement/extensions/page/static/cloud/squares.js";
import { beginningOf, grouped } from "../../../../../../placement/extensions/page/static/model/grouping.js";
import { Scale } from "../../../../../../placement/extensions/page/static/model/measures.js";
import { statesOf } from "../../../../../../placement/extensions/page/static/model/states.js";

function host(uuid, amounts, more = {}) {
  const sums = { total: 0, reserved: 0, capacity: 0, used: 0, providers: 1, over: 0, largest: 0, ...amounts };
  return { uuid, name: uuid, classes: new Map([["VCPU", sums]]), own: [], over: sums.over, changed: null, ...more };
}

test("a use is a part, and more than there is stands out", () => {
  const shown = (amounts) => new Scale("used", "VCPU", []).of(host("a", amounts));
  assert.deepEqual(shown({ used: 0, capacity: 0 }), { part: 0, over: false });
  assert.deepEqual(shown({ used: 1, capacity: 10 }), { part: 0.1, over: false });
  assert.deepEqual(shown({ used: 11, capacity: 10 }), { part: 1, over: true });
  assert.deepEqual(shown({ used: 1, capacity: 0 }), { part: 1, over: true });
  // one of its providers has too little
  assert.equal(shown({ used: 1, capacity: 10, over: 1 }).over, true);
});

test("what is free is a part of the most that a tree has", () => {
  const [one, other] = [host("a", { capacity: 10, used: 2, largest: 8 }), host("b", { capacity: 4, largest: 4 })];
  const scale = new Scale("free", "VCPU", [one, other]);
  assert.deepEqual([scale.of(one).part, scale.of(other).part], [1, 0.5]);
});

test("free in many pieces is fragmented", () => {
  const scale = new Scale("split", "VCPU", []);
  assert.equal(scale.of(host("a", { capacity: 8, largest: 8 })).part, 0);
  assert.equal(scale.of(host("a", { capacity: 8, largest: 2 })).part, 0.75);
  assert.equal(scale.of(host("a", { capacity: 8, used: 8 })).part, 0);
});

test("a tree that wasn't counted is unknown", () => {
  const scale = new Scale("fits", "VCPU", [], new Map([["a", 3], ["b", 6]]));
  assert.equal(scale.of(host("a", {})).part, 0.5);
  assert.equal(scale.of(host("c", {})).part, null);
  assert.equal(scale.told(host("c", {})), "not counted");
});

test("changes fade within an hour", () => {
  const scale = new Scale("changed", "VCPU", [], null, 10_000_000);
  const part = (changed) => scale.of(host("a", {}, { changed })).part;
  assert.deepEqual([part(null), part(10_000_000), part(8_200_000), part(0)], [0, 1, 0.5, 0]);
});

test("colours lie between steps", () => {
  const steps = [[0, 0, 0], [100, 0, 0], [200, 0, 0]];
  assert.equal(mixed(steps, 0), "rgb(0 0 0)");
  assert.equal(mixed(steps, 0.25), "rgb(50 0 0)");
  assert.equal(mixed(steps, 1), "rgb(200 0 0)");
});

test("squares of any number of trees can be seen", () => {
  assert.equal(sizeFor(3, 1000, 320), 28);
  assert.equal(sizeFor(100_000, 1000, 320), 4);
});

test("names are grouped by what they begin with", () => {
  assert.equal(beginningOf("rack7-host12", ""), "rack7-host");
  assert.equal(beginningOf("rack7-12.example.org", ""), "rack7");
  assert.equal(beginningOf("rack7-host12", "rack*-"), "rack7-");
  assert.equal(beginningOf("rack7-host12", "*-"), "rack7-");
  assert.equal(beginningOf("other", "rack*-"), "");
  assert.equal(beginningOf("rack7", "rack*"), "rack7");
});

test("groups are sorted as people count, the rest is last", () => {
  const hosts = ["rack10", "none", "rack9"].map((name) => host(name, {}));
  const found = grouped(hosts, ({ name }) => (name === "none" ? [] : [name]));
  assert.deepEqual(found.map(([key]) => key), ["rack9", "rack10", ""]);
});

test("states of a tree", () => {
  assert.deepEqual(statesOf(host("a", { total: 4, reserved: 4 }), new Set(["a"])), ["disabled", "drained", "unused"]);
  assert.deepEqual(statesOf(host("a", { total: 4, capacity: 4, used: 5, over: 1 }), null), ["over"]);
  assert.deepEqual(statesOf(host("a", {}), null), ["bare"]);
});
