import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/" };
const { projectsOf } = await import("../../../../../../placement/extensions/page/static/model/owners.js");

test("a plan is shown also if nobody can say whose servers move", async () => {
  const { signal } = new AbortController();
  globalThis.fetch = async () => ({ ok: true, text: async () => '{"consumers": {"a": {"project_id": "p"}}}' });
  assert.deepEqual([...(await projectsOf(["a", "b"], signal))], [["a", "p"]]);
  for (const status of [403, 413, 503]) {
    globalThis.fetch = async () => ({ ok: false, status, json: async () => null });
    assert.equal((await projectsOf(["a"], signal)).size, 0);
  }
});
