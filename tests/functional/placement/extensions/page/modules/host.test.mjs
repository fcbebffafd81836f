import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf } from "../../../../../../placement/extensions/page/static/drawings/host.js";

test("what has processors or memory is a cell, other things stand beside", () => {
  const provider = (uuid, inventories, traits) => ({ uuid, inventories, traits });
  const below = [
    provider("numa0", { VCPU: {}, MEMORY_MB: {} }),
    provider("numa1", {}, ["HW_NUMA_ROOT"]),
    provider("pool", { DISK_GB: {} }, []),
  ];
  const { cells, beside } = partsOf({ uuid: "host" }, new Map([["host", below]]));
  assert.deepEqual(cells.map(({ uuid }) => uuid), ["numa0", "numa1"]);
  assert.deepEqual(beside.map(({ uuid }) => uuid), ["pool"]);
  assert.deepEqual(partsOf({ uuid: "flat" }, new Map()), { cells: [], beside: [] });
});
