import assert from "node:assert/strict";
import { test } from "node:test";
import { Cloud } from "../../../../../../placement/extensions/page/static/model/cloud.js";

function tree(root, ...uuids) {
  return { root, providers: [root, ...uuids].map((uuid) => ({ uuid, name: uuid, inventories: {}, usages: {} })) };
}

test("a provider that moved is its new tree's, and its old tree is to be read again", () => {
  const cloud = new Cloud();
  cloud.take(tree("a", "child"));
  assert.deepEqual(cloud.take(tree("b", "child")), new Set(["a"]));
  assert.equal(cloud.roots.get("child"), "b");
  // the old tree stays until it is read
  assert.deepEqual([...cloud.hosts.keys()].sort(), ["a", "b"]);
  assert.deepEqual(cloud.take(tree("a")), new Set());
  assert.equal(cloud.roots.get("child"), "b");
  cloud.drop("b");
  assert.deepEqual([...cloud.roots.keys()], ["a"]);
});
