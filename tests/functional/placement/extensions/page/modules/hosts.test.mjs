import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/" };
const { membersOf, rootsOf } = await import("../../../../../../placement/extensions/page/static/model/hosts.js");
const { TraitRoots } = await import("../../../../../../placement/extensions/page/static/model/trait_roots.js");
const { names } = await import("../../../../../../placement/extensions/page/static/model/names.js");

const hosts = [{ uuid: "a", name: "one" }, { uuid: "b", name: "two" }];
const cloud = { list: () => hosts, roots: new Map(hosts.map(({ uuid }) => [uuid, uuid])), within: (uuid) => (uuid === "r7" ? hosts : []) };
const live = { cloud, begin() {}, async known() {} };

test("a host that is named twice is one", async () => {
  assert.deepEqual(await rootsOf(["one", "a", "two"], live), ["a", "b"]);
});

test("an aggregate is found by a name that comes after the trees", async () => {
  let answer;
  globalThis.fetch = () => new Promise((resolve) => (answer = resolve));
  names.read();
  const members = membersOf(["rack 7", "one"], live);
  // the trees are known by now
  await setImmediate();
  answer({ ok: true, text: async () => '{"aggregates": {"r7": "rack 7"}}' });
  assert.deepEqual(await members, ["a", "b"]);
  await assert.rejects(membersOf(["rack 8"], live), /no host rack 8/);
});

test("a trait that doesn't exist, or may not be read, has no trees", async () => {
  for (const status of [400, 403]) {
    globalThis.fetch = async () => ({ ok: false, status, json: async () => null });
    const traits = await new Promise((told) => {
      const made = new TraitRoots(() => told(made));
      assert.equal(made.of("CUSTOM_TYPO"), null);
    });
    // what was made of none before is made anew
    assert.equal(traits.revision, 1);
    assert.equal(traits.of("CUSTOM_TYPO").has("a"), false);
  }
});
