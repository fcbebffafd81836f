import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/", hidden: false };
const { Live } = await import("../../../../../../placement/extensions/page/static/model/live.js");

const tree = (uuid) => ({ root: uuid, providers: [{ uuid, name: uuid, parent_provider_uuid: null, generation: 0, aggregates: [], inventories: {}, usages: {} }] });
const page = (uuid, end) => [tree(uuid), end].map((line) => JSON.stringify(line)).join("\n");

test("where changes can't be told, pages are read again after a pause", async () => {
  let reads = 0;
  globalThis.fetch = async ({ pathname, search }) => {
    await setImmediate();
    if (pathname.endsWith("/changes")) return { ok: false, status: 410, json: async () => ({ errors: [{ detail: "Read all." }] }) };
    if (search.includes("marker=")) return { ok: true, text: async () => page("b", { position: "p2" }) };
    reads += 1;
    return { ok: true, text: async () => page("a", { position: "p1", marker: "a" }) };
  };
  const live = new Live();
  live.begin();
  // the first time what changed meanwhile is asked for at once
  for (let turn = 0; turn < 1000 && reads < 5; turn += 1) await setImmediate();
  live.end();
  assert.equal(reads, 2);
});
