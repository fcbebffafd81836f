import assert from "node:assert/strict";
import { test } from "node:test";
import { Cloud } from "../../../../../../placement/extensions/page/static/model/cloud.js";

function tree(root, name, more = {}) {
  const provider = {
    uuid: root,
    name,
    inventories: { VCPU: { total: 10, reserved: 2, allocation_ratio: 1.5 } },
    usages: { VCPU: 3 },
    aggregates: [],
    ...more,
  };
  return { root, providers: [provider, { uuid: `${root}c`, name: `${name}_child`, inventories: {}, usages: {} }] };
}

test("sums are of all providers", () => {
  const cloud = new Cloud();
  cloud.take(tree("a", "one"));
  cloud.take(tree("b", "two", { usages: { VCPU: 13 } }));
  const sums = { trees: 2, total: 20, reserved: 4, capacity: 24, used: 16, providers: 2, over: 1 };
  assert.deepEqual(cloud.totals.of("VCPU"), sums);
  assert.equal(cloud.hosts.get("a").classes.get("VCPU").largest, 9);
  assert.equal(cloud.hosts.get("b").over, 1);
});

test("sums follow trees that come, change and go", () => {
  const cloud = new Cloud();
  const [one, two] = ["r1", "r2"];
  cloud.take(tree("a", "one", { aggregates: [one, two] }));
  cloud.take(tree("b", "two", { aggregates: [two] }));
  assert.deepEqual(cloud.byAggregate("VCPU").map(([uuid, { hosts, used }]) => [uuid, hosts, used]), [[two, 2, 6], [one, 1, 3]]);
  cloud.take(tree("a", "one", { aggregates: [two], usages: { VCPU: 13 } }));
  assert.deepEqual(cloud.byAggregate("VCPU").map(([uuid, { hosts, used }]) => [uuid, hosts, used]), [[two, 2, 16]]);
  assert.deepEqual([cloud.states.get("over"), cloud.totals.trees], [1, 2]);
  cloud.drop("a");
  cloud.drop("b");
  assert.deepEqual([cloud.totals.classes.size, cloud.aggregates.size, cloud.states.get("over")], [0, 0, 0]);
});

test("aggregates that are alike stay where they are while trees change", () => {
  const cloud = new Cloud();
  for (const name of ["b", "a"]) cloud.take(tree(name, name, { aggregates: [`r${name}`] }));
  const before = cloud.byAggregate("VCPU").map(([uuid]) => uuid);
  for (const name of ["a", "b"]) {
    cloud.take(tree(name, name, { aggregates: [`r${name}`], usages: { VCPU: 4 } }));
    assert.deepEqual(cloud.byAggregate("VCPU").map(([uuid]) => uuid), before);
  }
});

test("what is used without an inventory is over capacity", () => {
  const cloud = new Cloud();
  cloud.take(tree("a", "one", { inventories: {}, usages: { VGPU: 1 } }));
  assert.equal(cloud.hosts.get("a").over, 1);
});

test("a tree that is taken again replaces itself", () => {
  const cloud = new Cloud();
  cloud.take(tree("a", "one"));
  cloud.take({ root: "a", providers: [{ uuid: "a", name: "renamed" }] });
  assert.deepEqual(cloud.list().map(({ name }) => name), ["renamed"]);
  assert.equal(cloud.roots.has("ac"), false);
});

test("a provider that moved is in one tree", () => {
  const cloud = new Cloud();
  cloud.take(tree("a", "one"));
  cloud.take({ root: "b", providers: [{ uuid: "b", name: "two" }, { uuid: "ac", name: "one_child" }] });
  assert.equal(cloud.roots.get("ac"), "b");
  cloud.take({ root: "a", providers: [{ uuid: "a", name: "one" }] });
  assert.equal(cloud.roots.get("ac"), "b");
  assert.equal(cloud.providers, 3);
});

test("names are sorted as people count", () => {
  const cloud = new Cloud();
  for (const name of ["host10", "host9", "host1"]) cloud.take(tree(name, name));
  assert.deepEqual(cloud.list().map(({ name }) => name), ["host1", "host9", "host10"]);
  cloud.drop("host9");
  assert.deepEqual(cloud.list().map(({ name }) => name), ["host1", "host10"]);
});

test("what changes keeps the order by name", () => {
  const cloud = new Cloud();
  for (const name of ["c", "a", "b"]) cloud.take(tree(name, name));
  cloud.list();
  cloud.take(tree("a", "a", { usages: { VCPU: 8 } }));
  assert.deepEqual(cloud.list().map(({ classes }) => classes.get("VCPU").used), [8, 3, 3]);
  cloud.take(tree("c", "0"));
  cloud.drop("b");
  cloud.take(tree("b", "b", { usages: { VCPU: 9 } }));
  cloud.take(tree("d", "aa"));
  assert.deepEqual(cloud.list().map(({ name }) => name), ["0", "a", "aa", "b"]);
  assert.equal(cloud.list()[3].classes.get("VCPU").used, 9);
});

test("names stand in the order of people", () => {
  const cloud = new Cloud();
  const names = ["Rack1", "host10", "host2", "rack1-host3", "host1000000000000000", "host-b", "Host2"];
  for (const name of names) cloud.take({ root: name, providers: [{ uuid: name, name }] });
  assert.deepEqual(
    cloud.list().map(({ name }) => name),
    ["host-b", "Host2", "host2", "host10", "host1000000000000000", "Rack1", "rack1-host3"],
  );
});
