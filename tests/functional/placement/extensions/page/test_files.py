"""The files of the page as a browser gets them (extensions.md 9)."""

import html.parser
import posixpath
import re

import pytest
from werkzeug.test import Client

from placement import config
from placement.app import create_app
from placement.extensions.page.files import page_files
from placement.extensions.page.serving import UI
from tests.offenders import assert_each, assert_none

# files are answered without a look at the database
pytestmark = pytest.mark.spread_over_databases

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src {}; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
IMPORT = re.compile(r'from "(\.[^"]+)"')


@pytest.fixture(scope="module")
def shown(unchanging):
    """Return a function that asks for a file of the page, without a token."""

    def get(name="", method="GET", **headers):
        return unchanging.client.open(f"{UI}/{name}", method=method, headers=headers)

    return get


def test_the_page_needs_no_token(shown):
    answer = shown()
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")


def test_each_file_is_there_and_guarded(shown):
    def is_there_and_guarded(name):
        answer = shown(name)
        assert answer.status_code == 200
        assert answer.data == page_files()[name].content
        assert answer.headers["Content-Security-Policy"] == POLICY.format("'self'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Referrer-Policy"] == "no-referrer"

    assert_each({name: (name,) for name in sorted(page_files())}, is_there_and_guarded)


def imported_by(name):
    """Return the names of the files that a module imports."""
    folder = posixpath.dirname(name)
    wanted = IMPORT.findall(page_files()[name].content.decode())
    return [posixpath.normpath(posixpath.join(folder, each)) for each in wanted]


def test_modules_import_what_is_there():
    imports = [
        (name, wanted)
        for name in page_files()
        if name.endswith(".js")
        for wanted in imported_by(name)
    ]
    assert len(imports) > 50
    assert_none(
        f"{name} imports {wanted}" for name, wanted in imports if wanted not in page_files()
    )


def test_pages_that_open_it_have_no_hold_of_it(shown):
    # browsers complain of the header where they don't trust the origin: plain HTTP of another host
    name = "Cross-Origin-Opener-Policy"
    assert shown(**{"Sec-Fetch-Dest": "document"}).headers[name] == "same-origin"
    assert shown("main.js", **{"Sec-Fetch-Dest": "script"}).headers[name] == "same-origin"
    assert name not in shown().headers


class _Inline(html.parser.HTMLParser):
    """Finds scripts and styles that stand in the page itself, and files of other hosts."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in given):
            self.found.append(tag)
        self.found += [key for key in given if key == "style" or key.startswith("on")]
        self.found += [value for value in given.values() if value and "//" in value]


def test_nothing_stands_inline_and_nothing_comes_from_elsewhere(shown):
    reader = _Inline()
    reader.feed(shown().text)
    assert reader.found == []


def test_a_browser_learns_that_a_file_is_the_same(shown):
    first = shown("main.js")
    again = shown("main.js", **{"If-None-Match": first.headers["ETag"]})
    assert (first.headers["Cache-Control"], again.status_code, again.data) == ("no-cache", 304, b"")
    assert shown("main.js", **{"If-None-Match": "*"}).status_code == 304
    assert shown("main.js", **{"If-None-Match": '"another"'}).status_code == 200


def test_head_has_no_body(shown):
    answer = shown("page.css", "HEAD")
    assert (answer.status_code, answer.data) == (200, b"")
    assert int(answer.headers["Content-Length"]) == len(page_files()["page.css"].content)


def test_nothing_can_be_written(shown):
    def is_refused(method):
        answer = shown("main.js", method)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")

    methods = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")
    assert_each({method: (method,) for method in methods}, is_refused)


def test_only_the_listed_files_are_there(unchanging):
    def is_answered_as_any_path_that_the_service_does_not_know(name):
        assert unchanging.client.get(f"{UI}/{name}").status_code == 401
        assert unchanging.get(f"{UI}/{name}").status_code == 404

    names = (
        *("../files.py", "..%2ffiles.py", "%2e%2e/files.py"),
        *("drawings/", "drawings", "main.js/", "x"),
    )
    cases = {name: (name,) for name in names}
    assert_each(cases, is_answered_as_any_path_that_the_service_does_not_know)


def test_the_address_without_a_slash_leads_to_the_page(unchanging):
    answer = unchanging.client.get(UI)
    # relative: right below a prefix, too
    assert (answer.status_code, answer.headers["Location"]) == (308, "ui/")


def test_the_page_is_told_that_no_token_is_checked(shown):
    answer = shown("session.json")
    assert answer.json == {"auth": "noauth2", "keystone": None, "dashboard": None}
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("options", "told", "asked"),
    [
        (
            {"www_authenticate_uri": "https://id.example:5000/v3"},
            "https://id.example:5000/v3",
            "https://id.example:5000",
        ),
        ({}, "http://10.0.0.9/identity", "http://10.0.0.9"),
        ({"www_authenticate_uri": "javascript:alert(1)"}, None, None),
    ],
)
def test_the_page_may_ask_the_keystone_that_is_named(tmp_path, options, told, asked):
    file = tmp_path / "placement.conf"
    lines = [
        *("[api]", "auth_strategy = keystone", "[placement_database]"),
        *(f"connection = sqlite:///{tmp_path}/placement.db", "sync_on_startup = true"),
        *("[keystone_authtoken]", "auth_type = password", "auth_url = http://10.0.0.9/identity"),
        *(f"{name} = {value}" for name, value in options.items()),
    ]
    file.write_text("\n".join(lines))
    client = Client(create_app(config.load(files=[str(file)], environ=False)))
    session = client.get(f"{UI}/session.json").json
    assert session == {"auth": "keystone", "keystone": told, "dashboard": None}
    policy = client.get(f"{UI}/").headers["Content-Security-Policy"]
    assert policy == POLICY.format(f"'self' {asked}" if asked else "'self'")


@pytest.mark.parametrize("option", ["berth__ui", "berth__extensions"])
def test_it_can_be_turned_off(new_service, option):
    service = new_service(**{option: False})
    assert service.client.get(f"{UI}/").status_code == 401
    assert service.get(f"{UI}/").status_code == 404
