import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/" };
const { pagesOfTrees, partBefore } = await import("../../../../../../placement/extensions/page/static/model/reading.js");

/** Answer each request with the next of these bodies; return the addresses that were asked for. */
function answered(...bodies) {
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url.search);
    const body = bodies.shift();
    return { ok: true, text: async () => body };
  };
  return asked;
}

async function read() {
  const found = [];
  for await (const { position, trees, part } of pagesOfTrees()) found.push([position, [...trees()].map(({ root }) => root), part(2)]);
  return found;
}

test("pages are read one after the other, the next one while one is taken", async () => {
  const asked = answered('{"root":"a"}\n{"root":"8"}\n{"position":"p1","marker":"80000000-"}\n', '{"root":"f"}\n{"position":"p2"}\n');
  const pages = pagesOfTrees();
  const { value } = await pages.next();
  assert.equal(value.part(2), 0.5);
  assert.deepEqual(asked.map((query) => query.split("&").at(-1)), ["limit=1000", "marker=80000000-"]);
  assert.deepEqual([...value.trees()], [{ root: "a" }, { root: "8" }]);
  assert.equal((await pages.next()).value.part(3), 1);
  assert.equal((await pages.next()).done, true);
});

test("an answer that ends early isn't taken for a cloud", async () => {
  for (const body of ["", '{"root":"a"}\n', '{"root":"a"}\n{"posi']) {
    answered(body);
    await assert.rejects(read());
  }
});

test("pages that don't go on end", async () => {
  const page = '{"position":"p","marker":"80"}';
  answered(page, page, page);
  await assert.rejects(read(), /doesn't go on/);
});

test("where uuids aren't random nobody knows how many trees are left", () => {
  assert.equal(partBefore("40000000-0000", 1000), 0.25);
  assert.equal(partBefore("0000be57-0000", 1000), null);
});
