import sys

import pytest

from benchmarks import servers


def test_a_service_that_cannot_start_says_why(tmp_path):
    no_database = f"sqlite:///{tmp_path}/nowhere/placement.db"

    with (
        servers.reference(sys.executable, no_database, tmp_path) as service,
        pytest.raises(servers.Silent, match=r"GET /\n[\s\S]*unable to open"),
    ):
        service.get("/")
