"""placement-manage compare with tokens of keystone, and over TLS."""

import json
import ssl
import subprocess

import pytest
import urllib3

from placement.compare.asking import HTTPService, TokenRefused, Unanswered
from placement.compare.request import Request
from placement.compare.tokens import GivenToken, NoToken, token_from
from tests.extras import needed_library
from tests.functional.placement.served import Recorded, served
from tests.functional.placement.serving.programs import needed

PASSWORD = "s3cr3t-password"


class Keystone:
    """Gives the tokens `token-1`, `token-2` and so on for PASSWORD."""

    given = 0

    def __call__(self, environ, start_response):
        headers = [("Content-Type", "application/json")]
        if environ["REQUEST_METHOD"] == "GET":
            start_response("200 OK", headers)
            links = [{"rel": "self", "href": f"http://{environ['HTTP_HOST']}/v3/"}]
            return [
                json.dumps(
                    {"version": {"id": "v3.14", "status": "stable", "links": links}}
                ).encode()
            ]
        body = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        if body["auth"]["identity"]["password"]["user"]["password"] != PASSWORD:
            start_response("401 Unauthorized", headers)
            return [b'{"error": {"message": "wrong", "code": 401, "title": "Unauthorized"}}']
        self.given += 1
        start_response("201 Created", [*headers, ("X-Subject-Token", f"token-{self.given}")])
        return [
            json.dumps(
                {"token": {"methods": ["password"], "expires_at": "2099-01-01T00:00:00Z"}}
            ).encode()
        ]


class Guard:
    """Accepts one token."""

    valid = "token-1"

    def __call__(self, environ, start_response):
        known = environ.get("HTTP_X_AUTH_TOKEN") == self.valid
        start_response("200 OK" if known else "401 Unauthorized", [])
        return [b"{}"]


@pytest.fixture
def environ():
    with served(Keystone()) as url:
        yield {
            "OS_AUTH_URL": f"{url}/v3",
            "OS_USERNAME": "ada",
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": "service",
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
        }


def test_a_password_in_the_environment_gives_a_token(environ):
    with served(Guard()) as url:
        service = HTTPService(url, token_from(environ, None), 5)
        assert service.ask(Request("/traits")).status == 200


def test_a_token_that_expired_is_replaced_by_another_one(environ):
    guard = Guard()
    recorded = Recorded(guard)
    with served(recorded) as url:
        service = HTTPService(url, token_from(environ, None), 5)
        assert service.ask(Request("/traits")).status == 200
        guard.valid = "token-2"
        assert service.ask(Request("/traits")).status == 200
        guard.valid = "none"
        with pytest.raises(TokenRefused):
            service.ask(Request("/traits"))
    tokens = [headers["x-auth-token"] for _, _, headers in recorded.requests]
    assert tokens == ["token-1", "token-1", "token-2", "token-2", "token-3"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"OS_PASSWORD": "wrong-secret"}, "Keystone gives no token"),
        ({"OS_AUTH_TYPE": "nonsense"}, "don't say how to get a token"),
        ({"OS_AUTH_URL": "http://127.0.0.1:1/v3"}, "Keystone gives no token"),
    ],
)
def test_what_keystone_refuses_is_said_without_secrets(environ, change, said):
    with pytest.raises(NoToken) as refused:
        token_from(environ | change, None).value()
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_a_given_token_is_used_before_those_of_the_environment(environ):
    both = environ | {"OS_TOKEN": "from-the-environment"}
    assert token_from(both, "given").value() == "given"
    assert token_from(both, None).value() == "from-the-environment"
    assert token_from({}, None).value() is None


def test_an_unknown_cloud_is_said(monkeypatch, tmp_path):
    needed_library("openstack", "ironic")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(NoToken, match=r"The cloud 'nowhere' of clouds\.yaml can't"):
        token_from({}, None, "nowhere")


@pytest.fixture
def cloud(monkeypatch, tmp_path):
    """Return a function that writes the entry of the cloud `mine` into a clouds.yaml."""
    needed_library("openstack", "ironic")
    path = tmp_path / "clouds.yaml"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))

    def written(entry):
        path.write_text(json.dumps({"clouds": {"mine": entry}}))

    return written


def entry_of(url, **more):
    user = {"username": "ada", "password": PASSWORD, "user_domain_name": "Default"}
    auth = {"auth_url": f"{url}/v3", "project_name": "p", "project_domain_name": "Default"}
    return {"auth_type": "v3password", "auth": auth | user, **more}


def test_a_cloud_gives_tokens_and_another_one_when_it_expires(cloud):
    guard = Guard()
    with served(Keystone()) as keystone, served(guard) as url:
        cloud(entry_of(keystone))
        service = HTTPService(url, token_from({"OS_TOKEN": "not this"}, None, "mine"), 5)
        assert service.ask(Request("/traits")).status == 200
        guard.valid = "token-2"
        assert service.ask(Request("/traits")).status == 200


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "text",
        {},
        {"auth_type": "nonsense", "auth": {"auth_url": "http://127.0.0.1:1/v3"}},
        {"auth_type": "v3password", "auth": {"auth_url": "http://127.0.0.1:1/v3"}},
    ],
)
def test_a_cloud_that_can_not_be_used_is_said(cloud, entry):
    cloud(entry)
    with pytest.raises(NoToken, match=r"The cloud 'mine' of clouds\.yaml can't be used: ") as told:
        token_from({}, None, "mine")
    assert "not found." not in str(told.value)


def test_the_command_line_says_how_the_keystone_of_a_cloud_is_checked(cloud, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    with served(Keystone(), context) as url:
        cloud(entry_of(url))
        assert token_from({}, None, "mine", str(certificate[1])).value() == "token-1"
        assert token_from({}, None, "mine", False).value() == "token-2"
        with pytest.raises(NoToken, match="certificate verify failed"):
            token_from({}, None, "mine").value()
        with pytest.raises(NoToken, match="/nowhere"):
            token_from({}, None, "mine", "/nowhere").value()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return the files of a key and of a certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *(needed("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
            *("-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(folder / "key"), "-out", str(folder / "certificate")),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "key", folder / "certificate"


@pytest.fixture
def secure(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    with served(Guard(), context) as url:
        yield url


def asked(url, **options):
    return HTTPService(url, GivenToken("token-1"), 5, **options).ask(Request("/traits")).status


def test_https_is_checked_by_the_named_authorities(secure, certificate):
    assert asked(secure, cacert=str(certificate[1])) == 200
    with pytest.warns(urllib3.exceptions.InsecureRequestWarning):
        assert asked(secure, insecure=True) == 200
    with pytest.raises(Unanswered, match="certificate verify failed") as refused:
        asked(secure)
    assert not refused.value.connected
