import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, byClass, bytes, count, exactly, number, percent, shortened } from "../../../../../../placement/extensions/page/static/words.js";

test("numbers have a narrow space between thousands", () => {
  assert.equal(number(1234567), "1\u202f234\u202f567");
});

test("memory and disks are sizes, other amounts numbers", () => {
  assert.equal(amount(4096, "MEMORY_MB"), "4\u00a0GiB");
  assert.equal(amount(1536, "DISK_GB"), "1.5\u00a0TiB");
  assert.equal(amount(0, "MEMORY_MB"), "0");
  assert.equal(amount(4096, "VCPU"), "4\u202f096");
  assert.equal(exactly(4096, "MEMORY_MB"), "4\u00a0GiB (4\u202f096)");
  assert.equal(bytes(-2048), "-2\u00a0KiB");
  assert.equal(bytes(2 ** 70), "1\u202f024\u00a0EiB");
});

test("a percentage is 0 of nothing alone, and 100 of all alone", () => {
  assert.equal(percent(0, 10), "0\u00a0%");
  assert.equal(percent(1, 1000), "<\u00a01\u00a0%");
  assert.equal(percent(999, 1000), "99\u00a0%");
  assert.equal(percent(10, 10), "100\u00a0%");
  assert.equal(percent(1, 0), "over");
  assert.equal(percent(0, 0), "–");
});

test("counts have their noun", () => {
  assert.equal(count(1, "tree"), "1\u00a0tree");
  assert.equal(count(2, "inventory", "inventories"), "2\u00a0inventories");
});

test("long names lose their middle, by letters", () => {
  assert.equal(shortened("compute1", 8), "compute1");
  assert.equal(shortened("compute-17.example", 9), "comp…mple");
  assert.equal([...shortened("😀".repeat(20), 9)].length, 9);
});

test("classes of each host stand first", () => {
  const names = ["VGPU", "DISK_GB", "CUSTOM_A", "VCPU", "MEMORY_MB"];
  assert.deepEqual(names.sort(byClass), ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A", "VGPU"]);
});
