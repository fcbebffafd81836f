import assert from "node:assert/strict";
import { test } from "node:test";
import { Trend } from "../../../../../../placement/extensions/page/static/model/trend.js";

function sums(used, capacity = 10) {
  return new Map([["VCPU", { capacity, used }]]);
}

test("samples are taken twice a minute, and kept for an hour", () => {
  const trend = new Trend();
  for (let second = 0; second <= 7200; second += 3) trend.sample(sums(second / 720), 1000 * second);
  const points = trend.of("VCPU", 7_200_000);
  assert.equal(points.length, 121);
  assert.deepEqual(points[0], [3_600_000, 0.5]);
  assert.deepEqual(points.at(-1), [0, 1]);
  assert.deepEqual(trend.of("VGPU", 7_200_000), []);
});

test("what has no capacity has no share", () => {
  const trend = new Trend();
  trend.sample(sums(1, 0), 0);
  assert.deepEqual(trend.of("VCPU", 0), []);
});

test("the first minutes are too narrow to be seen", () => {
  const trend = new Trend();
  for (const minute of [0, 4, 5]) trend.sample(sums(1), 60_000 * minute);
  assert.deepEqual(trend.of("VCPU", 240_000), []);
  assert.equal(trend.of("VCPU", 300_000).length, 3);
});
