import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/" };
const { membersOf, rootsOf } = await import("../../../../../../placement/extensions/page/static/model/hosts.js");
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
