"""How long the page takes from the last byte to its first paint, and what its steps cost.

    python -m benchmarks.page --work /tmp/benchmarks --hosts 10000

It starts `placement-api` on a cloud of hosts with seven providers each, and looks at its page with
Debian's chromium. Times are in milliseconds, the median of the rounds. Those of the steps (another
measure, a group, a zoom, a search, an order) are processor time of the page's thread, without the
pause of others; so is `reading`, all that the page does until it is painted.
"""

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

from benchmarks.clouds import Builder

PATIENCE = 600_000
#: marks the moments: the last byte of the trees has arrived, and what it says is painted
WATCH = """
() => new Promise((resolve) => {
  const painted = () => {
    if (!document.querySelector(".intro")) return requestAnimationFrame(painted);
    requestAnimationFrame(() => setTimeout(() => {
      const trees = performance.getEntriesByType("resource")
        .filter(({ name }) => name.includes("provider_trees"));
      const last = Math.max(...trees.map(({ responseEnd }) => responseEnd));
      resolve([last - trees[0].startTime, performance.now() - last,
               performance.memory.usedJSHeapSize / 1e6, document.querySelectorAll("*").length]);
    }));
  };
  painted();
})
"""
#: what the page does one after the other, by address
STEPS = {
    "show": "#/cloud?show=split",
    "class": "#/cloud?class=VGPU",
    "group": "#/cloud?by=name&like=provider-*0",
    "zoom": "#/cloud?by=name&like=provider-*0&in=provider-20",
    "trees": "#/trees",
    "search": "#/trees?q=provider-77",
    "filter": "#/trees?free=VCPU:57",
    "order": "#/trees?sort=used+VCPU",
}
STEP = """
async (hash) => {
  location.hash = hash;
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 200)));
}
"""
SCROLL = """
async () => {
  const list = document.querySelector(".scroller");
  const times = [];
  let last = performance.now();
  for (let step = 0; step < 200; step++) {
    list.scrollTop += 700;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  times.sort((one, other) => one - other);
  return [times[100], times[197]];
}
"""


NAMES = (
    *("all answers", "paint after them", "heap MB", "elements", "reading"),
    *("frame", "slow frame", *STEPS),
)


@contextlib.contextmanager
def serving(database: Path) -> Iterator[str]:
    """Serve a database while the body runs; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = {
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{database}",
        "OS_API__AUTH_STRATEGY": "noauth2",
    }
    command = [sys.executable, "-m", "placement.cli.serve", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        command, env=os.environ | options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            for _ in range(100):
                with contextlib.suppress(requests.ConnectionError):
                    if requests.get(url, timeout=10).ok:
                        break
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def looked_at(page: Any, url: str) -> list[float]:
    """Open the page and go through it; return the figures of NAMES."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return 1000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration")

    page.goto(f"{url}/berth/v1/ui/")
    first = page.evaluate(WATCH)
    found = [*first, spent(), *page.evaluate(SCROLL)]
    for address in STEPS.values():
        before = spent()
        page.evaluate(STEP, address)
        found.append(spent() - before)
    return found


def main() -> None:
    """Measure, and print a line for each figure."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder for the database")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    database = asked.work / f"page-{asked.hosts}.db"
    if not database.exists():
        Builder(database).nested(7 * asked.hosts)
    seen = []
    with serving(database) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"],
        )
        for _ in range(asked.rounds):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(PATIENCE)
            seen.append(looked_at(page, url))
            page.close()
        browser.close()
    medians = [statistics.median(values) for values in zip(*seen, strict=True)]
    for what, value in zip(NAMES, medians, strict=True):
        print(f"{what:16} {value:9.1f}")


if __name__ == "__main__":
    main()
