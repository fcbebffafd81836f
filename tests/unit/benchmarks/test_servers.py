import pytest

from benchmarks import servers


def test_a_service_that_cannot_start_says_why(tmp_path):
    interpreter = tmp_path / "python"
    interpreter.write_text("#!/bin/sh\necho unable to open database file >&2\nexit 1\n")
    interpreter.chmod(0o755)

    with (
        servers.reference(str(interpreter), "sqlite://", tmp_path) as service,
        pytest.raises(servers.Silent, match=r"GET /\n[\s\S]*unable to open"),
    ):
        service.get("/")
