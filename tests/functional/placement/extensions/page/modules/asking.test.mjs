import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.Node = class {
  querySelectorAll = () => [];
  contains = () => false;
  setAttribute() {}
  addEventListener() {}
  append(...texts) {
    this.told = texts.map((text) => text.told ?? text).join("");
  }
  replaceChildren(...children) {
    this.append(...children);
  }
};
globalThis.document = { baseURI: "http://placement.example/berth/v1/ui/", createElement: () => new Node() };
const listeners = {};
globalThis.addEventListener = (kind, listener) => (listeners[kind] = listener);
const { Asking } = await import("../../../../../../placement/extensions/page/static/asking.js");

/** Return an asking, and each time that it asks: `{signal, first, resolve, reject}`. */
function asked() {
  const asking = new Asking(new Node());
  asking.pace = { rests: false, time: (question) => question() };
  const times = [];
  const question = (signal, first) => new Promise((resolve, reject) => times.push({ signal, first, resolve, reject }));
  return { asking, times, ended: asking.show(question, (answer) => [answer.text]) };
}

const later = () => new Promise((resolve) => setTimeout(resolve, 0));

test("a first answer is shown until the whole one is there", async () => {
  const { asking, times, ended } = asked();
  assert.equal(asking.node.told, "The service is asked.");
  times[0].first({ text: "one" });
  assert.equal(asking.node.told, "one");
  times[0].resolve({ text: "all" });
  await ended;
  assert.equal(asking.node.told, "all");
});

test("what changes after a first answer is asked for when the question has ended", async () => {
  const { asking, times, ended } = asked();
  times[0].first({ text: "one" });
  asking.changed();
  assert.equal(times.length, 1);
  times[0].resolve({ text: "all" });
  await ended;
  asking.refresh();
  times[1].first({ text: "less" });
  assert.equal(asking.node.told, "all");
  times[1].resolve({ text: "newer" });
  await later();
  assert.equal(asking.node.told, "newer");
});

test("a question that another one replaced shows nothing, and leaves that one open", async () => {
  const { asking, times, ended } = asked();
  asking.show(asking.question, asking.drawn);
  assert.equal(times[0].signal.aborted, true);
  times[0].first({ text: "old" });
  times[0].resolve({ text: "old" });
  await ended;
  assert.equal(asking.node.told, "The service is asked.");
  times[1].first({ text: "one" });
  asking.changed();
  assert.equal(times.length, 2);
});

test("an answer that waits for a finger isn't drawn over another question", async () => {
  const { asking, times, ended } = asked();
  asking.node.contains = () => true;
  times[0].resolve({ text: "all" });
  await ended;
  assert.equal(asking.node.told, "The service is asked.");
  asking.say("Ask something.");
  listeners.pointerup();
  await later();
  assert.equal(asking.node.told, "Ask something.");
});
