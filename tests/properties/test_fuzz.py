"""Whatever is sent, nothing crashes, answers keep their form and refusals change no row.

The form of every answer – no 500 among them – is judged by the hook of all tests. A longer run:
`BERTH_FUZZ_EXAMPLES=20000 pytest tests/properties/test_fuzz.py` (other requests each time).
"""

import os

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from tests.extent import examples
from tests.properties.fuzz_requests import ENDPOINTS, requests
from tests.properties.fuzz_service import FuzzedService

LONG_RUN = os.environ.get("BERTH_FUZZ_EXAMPLES")
FUZZING = settings(
    max_examples=int(LONG_RUN or examples(8, 60)),
    derandomize=not LONG_RUN,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
#: what answers with the whole description of the API takes as long as a dozen others
FUZZED = [
    pytest.param(one, marks=pytest.mark.thorough) if "/openapi." in one[0] else one
    for one in ENDPOINTS
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with FuzzedService(tmp_path_factory.mktemp("fuzz")) as fuzzed:
        yield fuzzed


@pytest.mark.parametrize("endpoint", FUZZED, ids=lambda endpoint: " ".join(endpoint[::-1]))
@FUZZING
@given(data=st.data())
def test_no_request_crashes_the_service_or_changes_rows_when_refused(service, endpoint, data):
    request = data.draw(requests(endpoint))
    service.send(request)


@pytest.fixture(scope="module")
def facing_service(tmp_path_factory):
    """Make a service behind proxies that answers browsers of other origins."""
    options = {
        "oslo_middleware__enable_proxy_headers_parsing": True,
        "cors__allowed_origin": ["http://known"],
    }
    with FuzzedService(tmp_path_factory.mktemp("facing"), **options) as fuzzed:
        yield fuzzed


@settings(FUZZING, max_examples=int(LONG_RUN or examples(40, 400)))
@given(request=requests())
def test_no_header_of_proxies_and_browsers_crashes_the_service(facing_service, request):
    facing_service.send(request)
