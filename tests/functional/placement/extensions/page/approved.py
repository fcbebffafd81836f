"""What each view draws, beside what people have looked at and approved (contributing.rst).

Pictures depend on the fonts of a machine. So this compares what they are drawn of: headings, texts
and roles in their order, how long bars are, and which colours are there. A file of the folder
`approved` has that for a view.
"""

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
#: class, length and colour of each part of a bar, and how many pixels of a map have which colour
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
    for (let at = 0; at < data.length; at += 4) {
      if (!data[at + 3]) continue;
      const colour = [...data.slice(at, at + 3)].join(" ");
      counts[colour] = (counts[colour] ?? 0) + 1;
    }
    return counts;
  });
  return { bars, maps };
}
"""
#: waits for a change of the page, or a while
CHANGE = """
() => new Promise((resolve) => {
  const watch = new MutationObserver(() => done());
  const late = setTimeout(() => done(), 1000);
  const done = () => (watch.disconnect(), clearTimeout(late), resolve());
  const all = { subtree: true, childList: true, characterData: true, attributes: true };
  watch.observe(document.querySelector("main"), all);
})
"""


def check(page, view, scheme):
    """Fail unless a view is what was approved, once all of its answers are there.

    :param scheme: `light` or `dark`, which the page has now
    """
    file = FOLDER / f"{view}.json"
    if os.environ.get(APPROVE):
        known = json.loads(file.read_text()) if file.exists() else {}
        page.wait_for_load_state("networkidle")
        now = json.dumps(known | _drawn(page, scheme), indent=1, ensure_ascii=False)
        file.write_text(now + "\n")
        return
    known = json.loads(file.read_text())
    wanted = {part: known[part] for part in ("texts", scheme)}
    end = time.monotonic() + PATIENCE
    while (drawn := _drawn(page, scheme)) != wanted and time.monotonic() < end:
        page.evaluate(CHANGE)
    assert drawn == wanted, f"{view} isn't as approved: contributing.rst says more"


def _drawn(page, scheme):
    texts = page.locator("main").aria_snapshot()
    for varying, instead in VARYING:
        texts = varying.sub(instead, texts)
    return {"texts": texts.split("\n"), scheme: page.evaluate(PAINTED)}
