"""contrib/nginx: the service behind a proxy that terminates TLS."""

import getpass
import re
from urllib.parse import urljoin

import pytest

from tests.browsing import expect
from tests.contrib.certificate import made_certificate
from tests.contrib.files import adapted
from tests.functional.placement.service import Service
from tests.functional.placement.serving.programs import ADMIN, FORKED, free_port, needed

#: the configuration around a server block, for a process without root's rights
FRAME = """
user {user};
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture(scope="module")
def certificate(folder):
    return made_certificate(folder)


@pytest.fixture(scope="module")
def service(start_for_module):
    """Return the service behind the proxy; it logs all requests."""
    port = free_port()
    command = [FORKED, "--port", str(port)]
    server = start_for_module(
        command,
        f"http://127.0.0.1:{port}",
        OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING="true",
    )
    server.port = port
    return server


@pytest.fixture(scope="module")
def proxied(start_for_module, service, certificate, folder):
    """Return the service as clients of the proxy reach it."""
    port = free_port()
    ours = {
        "listen 8780": f"listen 127.0.0.1:{port}",
        "server_name placement.example": "server_name localhost",
        "/etc/ssl/placement.crt": str(certificate[0]),
        "/etc/ssl/placement.key": str(certificate[1]),
        "127.0.0.1:8778": f"127.0.0.1:{service.port}",
    }
    server = adapted("nginx/placement-api", ours)
    path = folder / "nginx.conf"
    path.write_text(FRAME.format(user=getpass.getuser(), folder=folder, server=server))
    command = [needed("nginx", "nginx-light"), "-p", str(folder), "-c", str(path)]
    return start_for_module(
        [*command, "-g", "daemon off;"],
        f"https://localhost:{port}/placement",
        verify=str(certificate[0]),
    )


def test_it_is_served_below_the_prefix(proxied):
    answer = proxied.request("GET", "/resource_providers")
    assert (answer.status_code, "resource_providers" in answer.json()) == (200, True)


def test_locations_have_the_proxy_s_address(proxied):
    answer = proxied.request("PUT", "/resource_classes/CUSTOM_A")
    assert answer.headers["location"] == f"{proxied.url}/resource_classes/CUSTOM_A"


def test_links_have_the_proxy_s_prefix(proxied):
    proxied.request("PUT", "/resource_classes/CUSTOM_B")
    (link, *_) = proxied.request("GET", "/resource_classes/CUSTOM_B").json()["links"]
    assert link["href"] == "/placement/resource_classes/CUSTOM_B"


def test_the_log_has_the_client_s_path(proxied, service):
    proxied.request("GET", "/traits?name=startswith:HW")
    assert '"GET /placement/traits?name=startswith:HW" status: 200' in service.said()


def test_the_client_can_not_forge_the_proxy_s_headers(proxied):
    pretended = {
        "forwarded": "proto=http;host=evil.example;prefix=/evil",
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "http",
        "x-forwarded-prefix": "/evil",
    }
    answer = proxied.request("PUT", "/resource_classes/CUSTOM_C", headers=ADMIN | pretended)
    assert answer.headers["location"] == f"{proxied.url}/resource_classes/CUSTOM_C"


@pytest.mark.parametrize("path", ["/metrics", "/metrics/providers"])
def test_the_proxy_s_clients_read_no_metrics(proxied, service, path):
    assert service.request("GET", path).status_code == 200
    # the proxy must not take these away, as if they were of this connection alone
    hidden = ", ".join(["close", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"])
    for headers in ({}, {"connection": hidden}, ADMIN):
        assert proxied.request("GET", path, headers=headers).status_code == 403


def test_a_reshape_of_a_large_host_fits(proxied):
    body = {"inventories": {}, "allocations": {}, "padding": "x" * 2_000_000}
    answer = proxied.request("POST", "/reshaper", json=body, headers=ADMIN | {"x-roles": "service"})
    # the service rejects the body; the proxy didn't reject its size
    assert (answer.status_code, "errors" in answer.json()) == (400, True)


def test_a_search_may_name_many_aggregates(proxied):
    names = ",".join(f"00000000-0000-4000-8000-{number:012}" for number in range(200))
    path = f"/allocation_candidates?resources=VCPU:1&member_of=in:{names}"
    answer = proxied.request("GET", path)
    assert (len(path) > 7000, answer.status_code) == (True, 200)


def test_without_the_option_the_proxy_s_headers_are_ignored(tmp_path):
    service = Service(f"sqlite:///{tmp_path}/placement.db")
    headers = {"x-forwarded-host": "outside.example", "x-forwarded-prefix": "/p"}
    answer = service.put("/resource_classes/CUSTOM_A", headers_more=headers)
    assert answer.headers["location"] == "http://localhost/resource_classes/CUSTOM_A"


def test_the_page_and_what_it_loads_are_below_the_prefix(proxied):
    page = proxied.request("GET", "/berth/v1/ui")
    assert page.url == f"{proxied.url}/berth/v1/ui/"
    loaded = {urljoin(page.url, name) for name in re.findall(r'(?:src|href)="([^"#]+)"', page.text)}
    assert loaded
    for url in loaded:
        assert proxied.request("GET", url.removeprefix(proxied.url)).status_code == 200, url


@pytest.mark.thorough
def test_the_page_works_below_the_prefix(proxied, open_page):
    page = open_page(f"{proxied.url}/berth/v1/ui", ignore_https_errors=True)
    assert page.url == f"{proxied.url}/berth/v1/ui/"
    expect(page.get_by_role("heading", name="An empty cloud")).to_be_visible()
    page.get_by_role("link", name="Why").click()
    expect(page.get_by_role("heading", name="Why does it fit, or not?")).to_be_visible()
