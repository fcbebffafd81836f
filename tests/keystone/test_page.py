"""The page with a real keystone: a browser logs in with a user and a password."""

import pytest

from tests.browsing import expect
from tests.functional.placement.serving.programs import free_port
from tests.keystone.cloud import options, start_ours
from tests.keystone.identity import PASSWORD
from tests.keystone.server import Keystone


@pytest.fixture
def page_port():
    """Return the port that the page will be at."""
    return free_port()


@pytest.fixture
def allowing(keystone, page_port):
    """Yield a server of the same keystone whose configuration allows the page to ask it."""
    origin = f"http://127.0.0.1:{page_port}"
    server = Keystone(keystone.site, "allowing", OS_CORS__ALLOWED_ORIGIN=origin)
    server.start()
    yield server
    server.stop()


def test_a_user_logs_in(start_for_module, open_page, people, allowing, page_port, tmp_path):
    chosen = options(people.identity.url, www_authenticate_uri=allowing.url, token_cache_time="-1")
    start_ours(start_for_module, tmp_path, page_port, **chosen)
    url = f"http://127.0.0.1:{page_port}"
    page = open_page(f"{url}/berth/v1/ui/", hosts=[allowing.root], refused=[401])
    page.get_by_label("User", exact=True).fill("the-admin")
    page.get_by_label("Project", exact=True).fill("demo")
    page.get_by_label("Password").fill("wr0ng")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("Keystone refuses this user and password.")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="An empty cloud")).to_be_visible()


def test_a_reader_is_told_what_it_may_not(
    start_for_module, open_page, people, allowing, page_port, tmp_path
):
    chosen = options(people.identity.url, www_authenticate_uri=allowing.url, token_cache_time="-1")
    start_ours(start_for_module, tmp_path, page_port, **chosen)
    url = f"http://127.0.0.1:{page_port}"
    page = open_page(f"{url}/berth/v1/ui/", refused=[403])
    page.get_by_label("Token").fill(people.token("member"))
    page.get_by_role("button", name="Use this token").click()
    expect(page.get_by_role("alert")).to_contain_text("berth:provider_trees:show")


def test_tokens_that_keystone_does_not_know_are_asked_for_again(
    start_for_module, open_page, people, page_port, tmp_path
):
    chosen = options(people.identity.url, token_cache_time="-1")
    start_ours(start_for_module, tmp_path, page_port, **chosen)
    page = open_page(f"http://127.0.0.1:{page_port}/berth/v1/ui/", refused=[401])

    def use(token):
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Use this token").click()

    use("gAAAAABm-nobody-issued-this")
    expect(page.get_by_role("alert")).to_contain_text("doesn't accept this token")
    token = people.token("admin")
    use(token)
    expect(page.get_by_role("heading", name="An empty cloud")).to_be_visible()
    people.identity.revoke(token)
    expect(page.get_by_role("alert")).to_contain_text("It may have expired.")
    expect(page.get_by_role("heading", name="Who is asking?")).to_be_visible()
