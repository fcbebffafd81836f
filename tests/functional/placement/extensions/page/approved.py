"""What each view draws, beside what people have looked at and approved (contributing.rst).

Pictures depend on the fonts of a machine. So this compares what they are drawn of: headings, texts
and roles in their order, how long bars are, and which colours are there. A file of the folder
`approved` has that for a view. How a browser rounds and smooths edges doesn't matter.
"""

import itertools
import json
import os
import re
import time
from pathlib import Path

from tests.patience import PATIENCE

FOLDER = Path(__file__).parent / "approved"
#: set it to keep what is drawn now as approved; then look at it, and at the difference
APPROVE = "BERTH_APPROVE"
#: what differs from run to run, and what stands for it in the files
VARYING = (
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:PORT"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
)
#: where a part of a bar begins and how long it is, in percent, between its class and its colour
PART = re.compile(r" (-?\d+) (-?\d+) ")
#: so much the lengths of bars may differ, in percent, and the shares of colours of a map
LENGTHS, SHARES = 1, 3
#: the parts of each bar, and which share of what a map draws has which colour, in percent
PAINTED = """
() => {
  const number = (node, name) => Math.round(Number(node.getAttribute(name) ?? 0));
  const bars = [...document.querySelectorAll("main .bar rect, main .passed rect")].map((one) => {
    const { fill } = getComputedStyle(one);
    return [one.getAttribute("class"), number(one, "x"), number(one, "width"), fill].join(" ");
  });
  const maps = [...document.querySelectorAll("main canvas")].map((one) => {
    // of a copy: chromium warns of a canvas that is read often
    const paper = new OffscreenCanvas(one.width, one.height);
    const copy = paper.getContext("2d", { willReadFrequently: true });
    copy.drawImage(one, 0, 0);
    const { data } = copy.getImageData(0, 0, one.width, one.height);
    const counts = {};
    let all = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (!data[at + 3]) continue;
      const colour = [...data.slice(at, at + 3)].join(" ");
      counts[colour] = (counts[colour] ?? 0) + 1;
      all += 1;
    }
    // what is less is at an edge
    const large = Object.entries(counts).filter(([, count]) => count > all / 200);
    const share = ([colour, count]) => [colour, Math.round((100 * count) / all)];
    return Object.fromEntries(large.map(share));
  });
  return { bars, maps };
}
"""
#: waits for a change of the page, or a second; returns whether it was a change
CHANGE = """
() => new Promise((resolve) => {
  const watch = new MutationObserver(() => done(true));
  const late = setTimeout(() => done(false), 1000);
  const done = (changed) => (watch.disconnect(), clearTimeout(late), resolve(changed));
  const all = { subtree: true, childList: true, characterData: true, attributes: true };
  watch.observe(document.querySelector("main"), all);
})
"""
#: a page that hasn't become what is approved for so many seconds without a change doesn't any more
QUIET = 30


def check(page, view, scheme):
    """Fail unless a view is what was approved, once all of its answers are there.

    :param scheme: `light` or `dark`, which the page has now
    """
    file = FOLDER / f"{view}.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    wanted = {part: known.get(part) for part in ("texts", scheme)}
    if os.environ.get(APPROVE):
        page.wait_for_load_state("networkidle")
        now = json.dumps(known | _drawn(page, scheme, wanted), indent=1, ensure_ascii=False)
        file.write_text(now + "\n")
        return
    quiet, end = 0, time.monotonic() + PATIENCE
    while (now := _drawn(page, scheme, wanted)) != wanted:
        if quiet == QUIET or time.monotonic() > end:
            break
        quiet = 0 if page.evaluate(CHANGE) else quiet + 1
    assert now == wanted, f"{view} isn't as approved: contributing.rst says more"


def _drawn(page, scheme, wanted):
    """Return what is drawn, and what is wanted instead of what hardly differs from it."""
    texts = page.locator("main").aria_snapshot()
    for varying, instead in VARYING:
        texts = varying.sub(instead, texts)
    painted = settled(page.evaluate(PAINTED), wanted[scheme] or {})
    return {"texts": texts.split("\n"), scheme: painted}


def settled(painted, wanted):
    """Return what is painted, with what is wanted in each place where they hardly differ."""
    alike = {"bars": _same_bar, "maps": _same_map}
    return {
        kind: [
            want if want is not None and alike[kind](one, want) else one
            for one, want in itertools.zip_longest(found, wanted.get(kind, [])[: len(found)])
        ]
        for kind, found in painted.items()
    }


def _same_bar(one, other):
    some, others = PART.split(one, 1), PART.split(other, 1)
    return some[::3] == others[::3] and _near(some[1:3], others[1:3], LENGTHS)


def _same_map(one, other):
    shares = [one.get(colour) for colour in other]
    return one.keys() == other.keys() and _near(shares, other.values(), SHARES)


def _near(some, others, most):
    return all(abs(int(one) - int(other)) <= most for one, other in zip(some, others, strict=True))
