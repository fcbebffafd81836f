import assert from "node:assert/strict";
import { test } from "node:test";
import { Stories } from "../../../../../../placement/extensions/page/static/model/stories.js";

const holds = (provider, VCPU) => ({ [provider]: { resources: { VCPU } } });

test("a story begins with the first look, and has what changed since, the latest first", () => {
  let second = 0;
  const stories = new Stories(() => new Date(1000 * (second += 1)));
  assert.deepEqual(stories.take("a", holds("p", 2)).changes, []);
  stories.take("a", holds("p", 4));
  const { since, changes } = stories.take("a", holds("q", 4));
  assert.equal(since.getTime(), 1000);
  assert.deepEqual(changes.map(({ provider, before, after }) => [provider, before, after]), [["q", 0, 4], ["p", 4, 0], ["p", 2, 4]]);
});

test("stories have an end", () => {
  const stories = new Stories();
  for (let number = 0; number < 200; number += 1) stories.take("a", holds("p", number));
  assert.equal(stories.take("a", {}).changes.length, 50);
  for (let number = 0; number < 200; number += 1) stories.take(`b${number}`, {});
  assert.equal(stories.known.size, 100);
  assert.deepEqual(stories.take("a", {}).changes, []);
});
