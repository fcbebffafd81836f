import assert from "node:assert/strict";
import { test } from "node:test";
import { mixed, sizeFor } from "../../../../../../placement/extensions/page/static/cloud/squares.js";
import { beginningOf, grouped } from "../../../../../../placement/extensions/page/static/model/grouping.js";
import { OVER, Scale } from "../../../../../../placement/extensions/page/static/model/measures.js";
import { statesOf, statesOfAmounts } from "../../../../../../placement/extensions/page/static/model/states.js";

function host(uuid, amounts, more = {}) {
  const sums = { total: 0, reserved: 0, capacity: 0, used: 0, providers: 1, over: 0, largest: 0, ...amounts };
  const classes = new Map([["VCPU", sums]]);
  return { uuid, name: uuid, classes, states: statesOfAmounts(classes), own: [], over: sums.over, changed: null, ...more };
}

test("a use is a part, and more than there is stands out", () => {
  const shown = (amounts) => new Scale("used", "VCPU", []).of(host("a", amounts));
  assert.equal(shown({ used: 0, capacity: 0 }), 0);
  assert.equal(shown({ used: 1, capacity: 10 }), 0.1);
  assert.equal(shown({ used: 11, capacity: 10 }), OVER);
  assert.equal(shown({ used: 1, capacity: 0 }), OVER);
  // one of its providers has too little
  assert.equal(shown({ used: 1, capacity: 10, over: 1 }), OVER);
});

test("what is free is a part of the most that a tree has", () => {
  const [one, other] = [host("a", { capacity: 10, used: 2, largest: 8 }), host("b", { capacity: 4, largest: 4 })];
  const scale = new Scale("free", "VCPU", [one, other]);
  assert.deepEqual([scale.of(one), scale.of(other), ...scale.parts], [1, 0.5, 1, 0.5]);
});

test("free in many pieces is fragmented", () => {
  const scale = new Scale("split", "VCPU", []);
  assert.equal(scale.of(host("a", { capacity: 8, largest: 8 })), 0);
  assert.equal(scale.of(host("a", { capacity: 8, largest: 2 })), 0.75);
  assert.equal(scale.of(host("a", { capacity: 8, used: 8 })), 0);
});

test("a tree that wasn't counted is unknown", () => {
  const scale = new Scale("fits", "VCPU", [], new Map([["a", 3], ["b", 6]]));
  assert.equal(scale.of(host("a", {})), 0.5);
  assert.equal(Number.isNaN(scale.of(host("c", {}))), true);
  assert.equal(scale.told(host("c", {})), "not counted");
});

test("the list begins with those that have most, what isn't known comes last", () => {
  const hosts = [
    ["a", 0.5],
    ["b", Number.NaN],
    ["c", 3],
    ["d", 0.5],
    ["e", 0],
    ["f", 2],
  ].map(([uuid, used]) => host(uuid, { used: used * 10, capacity: 10, over: Number(used > 1) }));
  const names = (scale) => scale.downward(hosts).map(({ uuid }) => uuid).join("");
  assert.equal(names(new Scale("used", "VCPU", hosts)), "cfadeb");
  assert.equal(names(new Scale("fits", "VCPU", hosts, new Map([["b", 2], ["e", 0]]))), "beacdf");
});

test("changes fade within an hour", () => {
  const scale = new Scale("changed", "VCPU", [], null, 10_000_000);
  const part = (changed) => scale.of(host("a", {}, { changed }));
  assert.deepEqual([part(null), part(10_000_000), part(8_200_000), part(0)], [0, 1, 0.5, 0]);
});

test("colours lie between steps", () => {
  const steps = [[0, 0, 0], [100, 0, 0], [200, 0, 0]];
  assert.deepEqual([0, 0.25, 1].map((part) => mixed(steps, part)), [[0, 0, 0], [50, 0, 0], [200, 0, 0]]);
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
