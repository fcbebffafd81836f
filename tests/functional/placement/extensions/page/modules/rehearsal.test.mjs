import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { rehearsal } from "../../../../../../placement/extensions/page/static/model/rehearsal.js";

const text = readFileSync(new URL("../rehearsal.json", import.meta.url), "utf8");

/** Return the text of a rehearsal after a change of its first node. */
function changed(change) {
  const found = JSON.parse(text);
  change(found.nodes[0], found);
  return JSON.stringify(found);
}

test("what the command writes is a rehearsal", () => {
  assert.equal(rehearsal(text).nodes[0].node, "two-sockets");
});

const WRONG = {
  "no host": (_, found) => delete found.host,
  "no moves": (node) => delete node.moves,
  "moves of nothing": (node) => (node.moves.one = [null]),
  "an amount in words": (node) => (Object.values(node.moves)[0][0].amount = "<b>one</b>"),
  "a total in words": (node) => (node.before[0].inventories.VCPU.total = "many"),
  "an inventory of nothing": (node) => (node.before[0].inventories.VCPU = null),
  "usage in words": (node) => (node.before[0].used.VCPU = "all"),
  "a class that is none": (node) => (node.before[0].inventories.constructor = { total: 1 }),
  "misfits that are no texts": (node) => (node.misfits = [{}]),
  "a provider twice": (node) => node.after.push(node.after[0]),
  "a provider above itself": (node) => (node.before[0].parent_provider_uuid = node.before[0].uuid),
};

for (const [what, change] of Object.entries(WRONG)) {
  test(`${what} is no rehearsal`, () => {
    assert.throws(() => rehearsal(changed(change)), { message: /^This file isn't what nova-manage/ });
  });
}

test("no name reaches what all objects have", () => {
  const written = text.replaceAll('"VCPU"', '"__proto__"');
  assert.throws(() => rehearsal(written), { message: /^This file isn't what/ });
  assert.equal({}.total, undefined);
});

for (const nested of ["[".repeat(1_000_000), `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`, "null", "5"]) {
  test(`${nested.slice(0, 5)} is refused`, () => {
    assert.throws(() => rehearsal(nested), { message: /^This file isn't/ });
  });
}
