import assert from "node:assert/strict";
import { test } from "node:test";
import { family, roomOf, stockOf } from "../../../../../../placement/extensions/page/static/drawings/provider.js";
import { joined, laidOut, shownOf, sumsByClass, sumsByConsumer } from "../../../../../../placement/extensions/page/static/drawings/moves.js";

function provider(uuid, parent, inventories, used = {}) {
  return { uuid, name: uuid, parent_provider_uuid: parent, inventories, used, allocations: {} };
}

const BEFORE = [provider("r", null, { VCPU: { total: 8 }, DISK_GB: { total: 9 } }, { VCPU: 3 })];
const AFTER = [
  provider("r", null, { DISK_GB: { total: 9 } }),
  provider("n", "r", { PCPU: { total: 8 } }, { PCPU: 3 }),
];
const MOVES = {
  one: [{ from: "r", to: "n", resource_class: "VCPU", renamed_to: "PCPU", amount: 1 }],
  two: [{ from: "r", to: "n", resource_class: "VCPU", renamed_to: "PCPU", amount: 2 }],
};

test("capacity is rounded down", () => {
  assert.equal(roomOf({ total: 10, reserved: 1, allocation_ratio: 1.17 }), 10);
  assert.equal(roomOf({ total: 4 }), 4);
  assert.equal(roomOf(undefined), 0);
});

test("moves between the same providers are one line", () => {
  assert.deepEqual(joined(MOVES), [
    { from: "r", to: "n", resource_class: "VCPU", renamed_to: "PCPU", amount: 3, consumers: 2 },
  ]);
});

test("each inventory has a place, children are indented", () => {
  const { boxes, places, height } = laidOut(AFTER);
  assert.deepEqual(boxes.map(({ x }) => x), [0, 16]);
  assert.ok(places.get("n PCPU").y > places.get("r DISK_GB").y);
  assert.ok(height >= boxes[1].y + boxes[1].height);
});

test("a tree of any depth has places that fit", () => {
  const chain = Array.from({ length: 20_000 }, (_, n) => provider(`p${n}`, n ? `p${n - 1}` : null, {}));
  const { boxes } = laidOut(chain.reverse());
  assert.deepEqual(boxes.slice(0, 3).map(({ provider: { uuid }, x }) => [uuid, x]), [["p0", 0], ["p1", 16], ["p2", 32]]);
  assert.equal(boxes.at(-1).provider.uuid, "p19999");
  assert.ok(boxes.every(({ x }) => x <= 128));
});

test("a drawing has so many rows, and says how many it lacks", () => {
  const inventories = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`CUSTOM_${n}`, { total: 1 }]));
  const { boxes } = laidOut(Array.from({ length: 50 }, (_, n) => provider(`p${n}`, null, inventories)));
  assert.ok(boxes.flatMap(({ rows }) => rows).length <= 1500);
  assert.ok(boxes.every(({ rows, more }) => rows.length + more === 100));
});

test("of many providers those that differ are drawn, and what is above them", () => {
  const many = (count, parent) => Array.from({ length: count }, (_, n) => provider(`p${n}`, parent, {}));
  const before = [provider("r", null, {}), ...many(300, "r")];
  const after = [...before, provider("new", "p299", {})];
  const uuids = (side) => side.map(({ uuid }) => uuid);
  const shown = shownOf({ before, after }, [], 200);
  assert.deepEqual(uuids(shown.after), ["r", "p299", "new"]);
  // what both sides have stands on both
  assert.deepEqual(uuids(shown.before), ["r", "p299"]);
  assert.equal(shown.left, 598);
  assert.deepEqual(shownOf({ before: BEFORE, after: AFTER }, [], 200), { before: BEFORE, after: AFTER, left: 0 });
});

test("sums say what differs", () => {
  const sums = Object.fromEntries(sumsByClass({ before: BEFORE, after: AFTER }).map((one) => [one.name, one]));
  assert.deepEqual([sums.VCPU.before, sums.VCPU.after], [3, 0]);
  assert.deepEqual(sums.DISK_GB.room, { before: 9, after: 9 });
});

test("who loses something is found", () => {
  const lost = { three: [{ from: "r", to: null, resource_class: "VCPU", renamed_to: null, amount: 1 }] };
  const found = sumsByConsumer({ ...MOVES, ...lost });
  assert.deepEqual(found.map(({ keeps }) => keeps), [true, true, false]);
  assert.deepEqual(found[0].after, { PCPU: 1 });
});

test("a provider whose parent isn't given is a root", () => {
  const { roots, children } = family([provider("b", "elsewhere", {}), provider("c10", "b", {}), provider("c9", "b", {})]);
  assert.deepEqual(roots.map(({ uuid }) => uuid), ["b"]);
  assert.deepEqual(children.get("b").map(({ uuid }) => uuid), ["c9", "c10"]);
});

test("what is used without an inventory has a row", () => {
  assert.deepEqual(stockOf(provider("a", null, {}, { VGPU: 2, VCPU: 0 })).map(({ name, room }) => [name, room]), [["VGPU", 0]]);
});
