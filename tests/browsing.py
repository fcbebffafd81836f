"""A real browser for the page: Debian's chromium, driven by playwright."""

import contextlib
import os
import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.extras import needed_library
from tests.functional.placement.serving.programs import needed
from tests.patience import PATIENCE

#: a host's name, for pages that aren't on the reader's own machine: it leads to the loopback
ELSEWHERE = "placement.example"
#: root may run chromium only without its sandbox; the rest keeps it from asking anybody
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    # as few processes as it can do with: the windows of a context share one
    *("--in-process-gpu", "--renderer-process-limit=1"),
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
)
SIZE = {"width": 1440, "height": 900}
#: the milliseconds that a page may take
PATIENCE_MS = PATIENCE * 1000


def expect(shown, case=None):
    """Return playwright's assertions about what a page shows; they wait as long as it may take.

    `case` is told with what fails.
    """
    # imported here: without the library tests are skipped, and modules can still be imported
    from playwright.sync_api import expect

    # the library's own five seconds are too few for a large cloud on a busy machine
    expect.set_options(timeout=PATIENCE_MS)
    return expect(shown, case)


def wait_until(page, happened):
    """Wait until something has happened, while the page goes on and its requests are handled."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        page.wait_for_timeout(10)


@pytest.fixture(scope="session")
def chromium():
    """Return a browser for all tests of this process."""
    needed_library("playwright", "browser")
    # the shell draws no window around the page: it takes half of the processor time
    program = shutil.which("chromium-headless-shell") or needed("chromium", "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=FLAGS, timeout=PATIENCE_MS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def profile(chromium):
    """Return what the windows of many tests belong to: a browser that has seen the page before.

    A window of its own keeps the process alive that draws them, and what it knows of the page.
    """
    with contextlib.closing(chromium.new_context(viewport=SIZE)) as context:
        context.new_page()
        yield context


@pytest.fixture
def open_page(chromium, profile):
    """Return a function that opens a window at an address, watched until the test ends.

    The test fails if the page logs an error, breaks, or sends a request to another origin.
    """
    # imported here: not every environment of tests has what serves
    from tests.functional.placement.served import hang_up

    with contextlib.ExitStack() as opened:
        # the browser keeps connections of windows that are closed
        opened.callback(hang_up)
        watched = []

        def open_at(url, hosts=(), refused=(), cors=False, alone=False, **options):
            """Open a window.

            `refused` are statuses, or errors, that the page may meet; `cors`: also refusals of
            another origin. With `alone`, or with options of playwright, the browser is a new one:
            for tests that stop its clock or measure its memory.
            """
            if alone or options:
                context = chromium.new_context(**{"viewport": SIZE} | options)
                opened.callback(context.close)
                page = context.new_page()
            else:
                page = profile.new_page()
                opened.callback(_close, page)
            page.set_default_timeout(PATIENCE_MS)
            watched.append(Watched(page, {_origin(url), *hosts}, refused, cors))
            page.goto(url)
            return page

        yield open_at
        for each in watched:
            each.check()


def _close(page):
    """Close a window, which must leave nothing to the next one."""
    clock = page.evaluate("String(Date)")
    page.close()
    assert "[native code]" in clock, "stop the clock of a window that is `alone`"


class Watched:
    """What a page did that it must not do."""

    def __init__(self, page, origins, refused, cors):
        self._wrong = []
        self._cors = cors
        self._origins = origins
        self._refused = [str(reason) for reason in refused]
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._wrong.append(f"error: {error}"))
        page.on("request", self._request)

    def _console(self, message):
        is_expected = message.text.startswith("Failed to load resource") and any(
            reason in message.text for reason in self._refused
        )
        is_expected = is_expected or (self._cors and "blocked by CORS policy" in message.text)
        if message.type in ("error", "warning") and not is_expected:
            self._wrong.append(f"{message.type}: {message.text}")

    def _request(self, request):
        if request.url.startswith(("data:", "blob:", "file:")):
            return
        if _origin(request.url) not in self._origins:
            self._wrong.append(f"a request to {request.url}")

    def check(self):
        assert self._wrong == []


def _origin(url):
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture(scope="session")
def screenshots():
    """Return a function that keeps a picture of a page: `shot(page, name)`.

    The files go to the folder BERTH_SCREENSHOTS. Without it nobody looks at them: none is drawn.
    """
    given = os.environ.get("BERTH_SCREENSHOTS")
    if not given:
        return lambda page, name, **options: None
    folder = Path(given)
    folder.mkdir(parents=True, exist_ok=True)

    def shot(page, name, **options):
        # playwright itself would write a file with threads that it keeps
        (folder / f"{name}.png").write_bytes(page.screenshot(**options))

    return shot
