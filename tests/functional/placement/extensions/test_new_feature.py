"""A feature is a folder and a line: the walk of contributing.rst, with a folder of this test."""

import sys

import pytest

from placement import app
from placement.features import Feature
from tests.functional.placement.service import Service

ROUTES = """
from placement.http.environ import PREFIX
from placement.routes import get

ROUTES = {f"{PREFIX}/greeting": (get("greeting.show", offer="greeting"),)}
"""
SCHEMA = """
from placement.schemas.answer_shapes import exactly
from placement.schemas.answer_tables import extension_answers
from placement.schemas.json_schema import STRING, Schema

_SHOWN = {(1, 0): Schema(exactly({"greeting": STRING}))}
RESPONSES = {"/berth/v1/greeting": {"GET": extension_answers({200: _SHOWN}, 403, 406)}}
"""
POLICY = """
from placement.policies.rules import ADMIN_OR_SERVICE, operation

RULES = [
    operation(
        "greeting", ADMIN_OR_SERVICE, "Greet.", ("GET", "/berth/v1/greeting"), family="berth"
    )
]
"""
HANDLER = """
from placement.http.call import NOW


def show(call):
    call.authorize("berth:greeting")
    return call.reply({"greeting": "Hello"}, modified=NOW)
"""
FILES = {
    "__init__.py": '"""A greeting."""',
    "routes.py": ROUTES,
    "schema.py": SCHEMA,
    "policy.py": POLICY,
    "handler.py": HANDLER,
}


@pytest.fixture
def feature(tmp_path, monkeypatch):
    """Return a feature whose package is in a temporary folder."""
    package = tmp_path / "greeting"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Feature("greeting")
    for name in [name for name in sys.modules if name.partition(".")[0] == "greeting"]:
        del sys.modules[name]


@pytest.fixture
def service(feature, tmp_path):
    """Return a service that has the feature beside all others."""
    features = (*app.EXTENSIONS, feature)
    return Service(f"sqlite:///{tmp_path}/placement.db", features=features).unjudged()


def test_a_new_feature_answers(service):
    answer = service.get("/berth/v1/greeting")
    assert (answer.status_code, answer.json) == (200, {"greeting": "Hello"})
    assert service.request("POST", "/berth/v1/greeting").status_code == 405


def test_a_new_feature_is_offered(service):
    assert service.get("/berth/v1").json["offers"][-1] == "greeting"


def test_a_new_feature_has_a_policy_of_its_own(service):
    answer = service.get("/berth/v1/greeting", headers_more={"x-auth-token": "u", "x-roles": "r"})
    assert answer.status_code == 403
    assert "berth:greeting" in answer.text


def test_a_new_feature_is_described(service):
    found = service.get("/berth/v1/openapi.json?microversion=1.39").json["paths"][
        "/berth/v1/greeting"
    ]
    assert (found["get"]["operationId"], found["get"]["x-policy"]) == (
        "greeting_show",
        "berth:greeting",
    )


def test_without_extensions_a_new_feature_is_not_there(feature, tmp_path):
    options = {"berth__extensions": False, "features": (*app.EXTENSIONS, feature)}
    service = Service(f"sqlite:///{tmp_path}/placement.db", **options).unjudged()
    assert service.get("/berth/v1/greeting").status_code == 404
