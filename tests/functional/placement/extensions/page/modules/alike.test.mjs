import assert from "node:assert/strict";
import { test } from "node:test";
import { alike } from "../../../../../../placement/extensions/page/static/why/alike.js";

const miss = (root, uuid, free) => ({ root, root_name: `host${root}`, uuid, name: uuid, missing: [{ name: "DISK_GB", free }] });

test("a full pool is one line, with all trees that it keeps from fitting", () => {
  const found = alike([miss(1, "nfs", 0), miss(2, "nfs", 0), miss(3, "other", 0)]);
  assert.deepEqual(
    found.map(({ uuid, trees }) => [uuid, trees.map(({ root_name: name }) => name)]),
    [
      ["nfs", ["host1", "host2"]],
      ["other", ["host3"]],
    ],
  );
});

test("what differs in an amount is told apart", () => {
  assert.equal(alike([miss(1, "nfs", 0), miss(2, "nfs", 1)]).length, 2);
});
