import assert from "node:assert/strict";
import { test } from "node:test";
import { ifOf } from "../../../../../../placement/extensions/page/static/model/asked.js";
import { commandsOf, evacuationMoves, pairsOf, quoted, ranges } from "../../../../../../placement/extensions/page/static/model/plan.js";

const UUID = "11111111-1111-4111-8111-111111111111";
const move = (consumer, to, type = "INSTANCE") => ({ consumer, consumer_type: type, from: [{ root: "a", name: "a" }], to: [{ root: to, name: to }] });

test("a name is one word of a shell", () => {
  assert.equal(quoted("compute-1.example"), "compute-1.example");
  assert.equal(quoted("a'; rm -rf /"), "'a'\\''; rm -rf /'");
  assert.equal(quoted("$(x)"), "'$(x)'");
  assert.equal(quoted(""), "''");
  assert.equal(quoted("--os-token"), "'--os-token'");
});

test("only servers are moved by commands, and nothing else gets into a line", () => {
  const lines = commandsOf([move(UUID, "b"), move(UUID, "b", "VOLUME"), move(UUID, "b", "X\ntouch y"), move("x\ntouch z", "b")]).split("\n");
  assert.deepEqual(lines.slice(3), [
    `openstack --os-compute-api-version 2.56 server migrate --live-migration --host b --wait ${UUID}`,
    `# ${UUID} is no server: its type is VOLUME`,
    `# ${UUID} is no server: its type is unknown`,
    "# a consumer that isn't named by a uuid",
    "",
  ]);
});

test("moves between the same places are one line", () => {
  const pairs = pairsOf([move("1", "b"), move("2", "c"), move("3", "b")]);
  assert.deepEqual(pairs.map(({ to, numbers }) => [to.name, numbers]), [["b", [1, 3]], ["c", [2]]]);
});

test("numbers in a row are joined", () => {
  assert.equal(ranges([1, 2, 3, 5, 7, 8]), "1–3, 5, 7–8");
});

test("an evacuation says from where everybody moves, also who is gone since", () => {
  const rootOf = (uuid) => ({ root: uuid[0], name: `host ${uuid[0]}` });
  const allocations = { b1: { resources: { VCPU: 1 } } };
  const held = { one: { consumer_type: "INSTANCE", project_id: "p", allocations: { a1: {}, a2: {}, b7: {} } } };
  const found = evacuationMoves({ one: { root: "b", allocations }, two: { root: "b", allocations } }, held, rootOf);
  assert.deepEqual(found.map(({ from, to, consumer_type: type }) => [from, to[0].name, type]), [
    [[{ root: "a", name: "host a" }], "host b", "INSTANCE"],
    [[], "host b", "unknown"],
  ]);
});

test("a cloud that is different is said by fields and by JSON", async () => {
  const query = new URLSearchParams({
    if_without: "one, two",
    if_like: "one",
    if_count: "3",
    if_ratios: "VCPU=6.0",
    if_freed: UUID,
    if_more: '{"all": {"classes": {"DISK_GB": {"reserved": 0}}, "member_of": "x"}, "without": ["z"]}',
  });
  assert.deepEqual(await ifOf(query, async (names) => names.map((name) => `uuid of ${name}`)), {
    all: { classes: { DISK_GB: { reserved: 0 }, VCPU: { allocation_ratio: 6 } }, member_of: "x" },
    without: ["z", "uuid of one", "uuid of two"],
    freed: [UUID],
    add: [{ like: "uuid of one", count: 3, empty: true, name: "new" }],
  });
  assert.equal(await ifOf(new URLSearchParams(), null), undefined);
  await assert.rejects(ifOf(new URLSearchParams({ if_more: "[]" }), null), /isn't a JSON object/);
  await assert.rejects(ifOf(new URLSearchParams({ if_ratios: "VCPU=x" }), null), /isn't like/);
});
