"""A client that a program makes from the document works with the service."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from placement.app import api
from placement.extensions.openapi.document import document as described
from tests import readme_commands
from tests.functional.placement.serving.programs import needed

PROGRAM = Path(__file__).parent / "generated_client.py"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Return the folder of a client, made from the document of 1.39."""
    folder = tmp_path_factory.mktemp("client")
    document = folder / "placement.json"
    document.write_text(json.dumps(described(api(), (1, 39))))
    made = subprocess.run(
        [
            needed("openapi-python-client", "openapi-python-client of PyPI"),
            "generate",
            "--path",
            document,
            "--meta=none",
            f"--output-path={folder}/placement_client",
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    # it reads JSON only
    said = made.stdout + made.stderr
    warnings = [line for line in said.splitlines() if line.startswith("WARNING")]
    assert warnings == ["WARNING parsing GET /berth/v1/openapi.yaml within openapi."]
    return folder


def test_it_lists_claims_and_reshapes(client, tmp_path):
    with readme_commands.service_in(tmp_path) as url:
        done = subprocess.run(
            [sys.executable, PROGRAM, url],
            env={"PYTHONPATH": str(client)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "2 VGPU",
        "placement.concurrent_update",
        "host card",
        "claimed 204",
        "claimed 11111111-1111-4111-8111-111111111111",
        "reshaped 204",
        "22222222-2222-4222-8222-222222222222",
    ]
