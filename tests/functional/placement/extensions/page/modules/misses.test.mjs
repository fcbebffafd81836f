import assert from "node:assert/strict";
import { test } from "node:test";
import { missText } from "../../../../../../placement/extensions/page/static/why/misses.js";

globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/" };
const { withRoots } = await import("../../../../../../placement/extensions/page/static/why/root_traits.js");

const said = (miss) => missText({ group: "", ...miss });

test("a root that lacks a trait isn't said to have a forbidden one", () => {
  assert.equal(said({ reason: "root_required", name: "A" }), "A: the root doesn't have it");
  assert.equal(said({ reason: "root_required", name: "!A" }), "A: the root has it, and must not");
  assert.equal(said({ reason: "root_required", name: "avoid" }), "the tree is to be avoided");
});

test("a trait that the root has is said to be there", () => {
  assert.equal(said({ reason: "trait", name: "A" }), "A: is not there");
  assert.equal(said({ reason: "at_root", name: "A", group: "_G" }), "A (group _G): is not there, but on the root of the tree");
});

test("what is missing is told also if the traits of the root can't be read", async () => {
  const { signal } = new AbortController();
  const found = [{ root: "r", uuid: "u", missing: [{ reason: "trait", name: "A" }] }];
  globalThis.fetch = async () => ({ ok: true, text: async () => '{"traits": ["A"]}' });
  assert.equal((await withRoots(found, signal))[0].missing[0].reason, "at_root");
  for (const status of [403, 404, 500, 503]) {
    globalThis.fetch = async () => ({ ok: false, status, json: async () => null });
    assert.deepEqual(await withRoots(found, signal), found);
  }
});
