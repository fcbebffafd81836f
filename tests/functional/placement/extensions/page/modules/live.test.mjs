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

test("trees with many changed providers are read once", async () => {
  const trees = Array.from({ length: 60 }, (_, at) => ({ root: `r${at}`, providers: [`r${at}`, `c${at}`].map((uuid) => ({ uuid, name: uuid })) }));
  const live = new Live();
  // the last one was a tree of its own before
  for (const each of [...trees.slice(0, -1), { root: "c59", providers: [{ uuid: "c59", name: "c59" }] }]) live.cloud.take(each);
  live.complete = true;
  let [reads, found] = [0, []];
  globalThis.fetch = async ({ pathname, search }) => {
    const providers = trees.map((_, at) => `c${at}`);
    if (pathname.endsWith("/changes")) return { ok: true, text: async () => JSON.stringify({ position: "p", complete: true, providers }) };
    const uuids = new URLSearchParams(search).get("uuid").slice(3).split(",");
    reads += 1;
    found = trees.filter(({ providers: own }) => own.some(({ uuid }) => uuids.includes(uuid)));
    return { ok: true, text: async () => JSON.stringify({ trees: found }) };
  };
  await live.readNews("o");
  assert.deepEqual([reads, found.length, live.cloud.hosts.size], [1, 60, 60]);
});
