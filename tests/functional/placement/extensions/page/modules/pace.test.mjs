import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "../../../../../../placement/extensions/page/static/model/pace.js";

test("an answer that takes long is asked for rarely", async () => {
  let time = 1000;
  const pace = new Pace(() => time);
  assert.equal(pace.rests, false);
  const answer = await pace.time(async () => {
    time += 500;
    return "this many";
  });
  assert.equal(answer, "this many");
  time += 4999;
  assert.equal(pace.rests, true);
  time += 1;
  assert.equal(pace.rests, false);
});

test("a question that fails counts, too", async () => {
  let time = 0;
  const pace = new Pace(() => time);
  await assert.rejects(
    pace.time(async () => {
      time += 100;
      throw new Error("away");
    }),
    { message: "away" },
  );
  assert.equal(pace.rests, true);
});
