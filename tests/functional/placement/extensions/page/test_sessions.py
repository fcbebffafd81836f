"""Who is asking: tokens, log-ins, and a service that goes and comes back (extensions.md 9)."""

import http.server
import json

import pytest

from placement import app, config
from tests.browsing import ELSEWHERE, expect
from tests.functional.placement.extensions.page.clouds import POOL, numbered
from tests.functional.placement.extensions.page.conftest import Kept
from tests.functional.placement.keystone_stub import Keystone, token
from tests.functional.placement.served import HangingUp, running, served
from tests.functional.placement.serving.conftest import starting
from tests.functional.placement.serving.programs import FORKED, free_port

PASSWORD = "correct horse"
TOKEN = "gAAAA-a-token"


class _LogIn(http.server.BaseHTTPRequestHandler):
    """Gives a token for the password, to pages of the allowed origin."""

    def do_OPTIONS(self):
        self._answer(204)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, dict(self.headers)))
        user = body["auth"]["identity"]["password"]["user"]
        self._answer(201 if user["password"] == PASSWORD else 401)

    def _answer(self, status):
        self.send_response(status)
        if self.server.allows:
            self.send_header("Access-Control-Allow-Origin", self.headers.get("Origin", ""))
            self.send_header("Access-Control-Allow-Headers", "Content-Type")
            self.send_header("Access-Control-Expose-Headers", "X-Subject-Token")
        if status == 201:
            self.send_header("X-Subject-Token", TOKEN)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        """Log nothing."""


class _LogInServer(HangingUp, http.server.HTTPServer):
    pass


@pytest.fixture
def log_in():
    """Yield a server that gives tokens as keystone does; `allows` pages, or not."""
    server = _LogInServer(("127.0.0.1", 0), _LogIn)
    server.asked, server.allows = [], True
    server.url = f"http://127.0.0.1:{server.server_port}"
    with running(server):
        yield server


@pytest.fixture
def keystone():
    with Keystone() as found:
        yield found


@pytest.fixture
def secured(tmp_path, log_in, keystone):
    """Yield the page of a service that checks tokens, and the keystone that knows them."""
    keystone.tokens[TOKEN] = token("operator", ["admin"], "cloud")
    options = keystone.options() | {"www_authenticate_uri": log_in.url, "token_cache_time": "-1"}
    lines = [
        *("[api]", "auth_strategy = keystone", "[placement_database]"),
        *(f"connection = sqlite:///{tmp_path}/placement.db", "sync_on_startup = true"),
        "[keystone_authtoken]",
        *(f"{name} = {value}" for name, value in options.items()),
    ]
    file = tmp_path / "placement.conf"
    file.write_text("\n".join(lines))
    running = app.start(config.load(files=[str(file)], environ=False))
    with served(Kept(running.application)) as url:
        yield f"{url}/berth/v1/ui/", keystone
    running.close()


def fill_in(page, password=PASSWORD):
    page.get_by_label("User", exact=True).fill("operator")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_a_user_logs_in_and_out(open_page, secured, log_in, screenshots):
    ui, _ = secured
    page = open_page(ui, hosts=[log_in.url])
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()
    screenshots(page, "log-in")
    fill_in(page)
    expect(page.get_by_text("Placement has no resource provider yet.")).to_be_visible()
    ((path, body, _),) = log_in.asked
    assert (path, body["auth"]["scope"]) == (
        "/v3/auth/tokens",
        {"project": {"name": "admin", "domain": {"name": "Default"}}},
    )
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()
    # a token that the page still had would show the cloud
    page.get_by_role("link", name="Trees").click()
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()


def test_nothing_of_a_session_is_kept(open_page, secured, log_in):
    ui, _ = secured
    page = open_page(f"{ui}#/trees", hosts=[log_in.url])
    fill_in(page)
    expect(page.get_by_text("There is no resource provider yet.")).to_be_visible()
    kept = page.evaluate(
        "() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie]"
    )
    assert kept == ["{}", "{}", ""]
    assert (TOKEN in page.url, TOKEN in page.content(), PASSWORD in page.content()) == (False,) * 3
    page.reload()
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()


def test_a_wrong_password_is_said_to_be_wrong(open_page, secured, log_in):
    ui, _ = secured
    page = open_page(ui, hosts=[log_in.url], refused=[401])
    fill_in(page, "wr0ng")
    expect(page.get_by_role("alert")).to_have_text("Keystone refuses this user and password.")


def test_a_keystone_that_allows_no_page_is_told(open_page, secured, log_in):
    ui, _ = secured
    log_in.allows = False
    page = open_page(ui, hosts=[log_in.url], refused=["ERR_FAILED"], cors=True)
    fill_in(page)
    expect(page.get_by_role("alert")).to_contain_text("[cors]allowed_origin")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_text("Placement has no resource provider yet.")).to_be_visible()


def test_a_wrong_token_is_refused(open_page, secured):
    ui, _ = secured
    page = open_page(ui, refused=[401])
    page.get_by_label("Token").fill("another")
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_role("alert")).to_contain_text("doesn't accept this token")
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()


def test_an_expired_token_is_asked_for_again(open_page, secured):
    ui, keystone = secured
    page = open_page(f"{ui}#/trees", refused=[401])
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_text("There is no resource provider yet.")).to_be_visible()
    keystone.tokens.clear()
    expect(page.get_by_role("alert")).to_contain_text("It may have expired.")
    keystone.tokens["the next one"] = token("operator", ["admin"], "cloud")
    page.get_by_label("Token").fill("the next one")
    page.get_by_role("button", name="Use this token").click()
    # where the reader was
    expect(page.get_by_text("There is no resource provider yet.")).to_be_visible()


def test_who_may_not_read_is_told(open_page, secured):
    ui, keystone = secured
    keystone.tokens["a reader's"] = token("guest", ["reader"], "other")
    page = open_page(f"{ui}#/why?resources=VCPU:1", refused=[403])
    page.get_by_label("Token").fill("a reader's")
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_role("alert")).to_contain_text("berth:explain")
    page.get_by_role("link", name="Cloud").click()
    expect(page.get_by_role("alert")).to_contain_text("berth:provider_trees:show")
    # it isn't asked again what is refused
    expect(page.get_by_role("status").first).to_have_text("The trees can't be read.")


def test_a_rehearsal_is_drawn_without_a_token(open_page, secured, rehearsal):
    ui, _ = secured
    page = open_page(f"{ui}#/reshape")
    page.get_by_label("File of a rehearsal").set_input_files(rehearsal)
    expect(page.get_by_text("2 consumers move, and each keeps what it holds.")).to_be_visible()


def test_a_rehearsal_outlives_the_token(open_page, secured, rehearsal):
    ui, keystone = secured
    page = open_page(ui, refused=[401])
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_text("Placement has no resource provider yet.")).to_be_visible()
    page.get_by_role("link", name="Reshape").click()
    page.get_by_label("File of a rehearsal").set_input_files(rehearsal)
    with page.expect_response(lambda answer: answer.status == 401):
        keystone.tokens.clear()
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    expect(page.get_by_role("heading", name="two-sockets")).to_be_visible()
    page.get_by_role("link", name="Cloud").click()
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()


@pytest.mark.parametrize("text", ["\u201cgAAAA\u201d", "   "])
def test_what_can_be_no_token_is_told(open_page, secured, text):
    ui, _ = secured
    page = open_page(ui)
    page.get_by_label("Token").fill(text)
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_role("alert")).to_contain_text("This is no token")


def test_a_host_without_tls_serves_the_page_too(open_page, small_cloud):
    ui = small_cloud.ui.replace("127.0.0.1", ELSEWHERE)
    page = open_page(f"{ui}#/trees/{numbered(POOL, 1)}")
    # whoever is elsewhere isn't an administrator without asking
    page.get_by_label("Token").fill("admin")
    page.get_by_role("button", name="Use this token").click()
    # no browser gives a page without TLS the clipboard: the uuid is marked to be copied
    page.get_by_role("button", name=numbered(POOL, 1)).click()
    expect(page.locator("code", has_text=numbered(POOL, 1))).to_be_visible()
    assert page.evaluate("getSelection().toString()") == numbered(POOL, 1)


def test_a_service_may_go_and_come_back(open_page, tmp_path):
    port = free_port()
    command = [FORKED, "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with starting(tmp_path) as start:
        server = start(command, url)
        page = open_page(f"{url}/berth/v1/ui/", refused=["ERR_CONNECTION", "ERR_EMPTY", 503])
        expect(page.get_by_text("Placement has no resource provider yet.")).to_be_visible()
        server.stop()
        freshness = page.get_by_role("status").first
        expect(freshness).to_contain_text("The service can't be reached.")
        page.get_by_role("link", name="Why").click()
        page.get_by_label("Amount", exact=True).first.fill("1")
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_role("alert")).to_contain_text("The service can't be reached.")
        start(command, url)
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", name="It fits into none of 0 trees")).to_be_visible()
        expect(freshness).to_contain_text("Live")
