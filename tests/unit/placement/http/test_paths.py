"""Paths, and URLs built from the WSGI environment (rest-api.md 1.9)."""

import pytest

from placement.http.call import absolute_url
from placement.http.dispatch import is_below_prefix
from placement.http.request_log import path_with_query


def environ(**more):
    return {"wsgi.url_scheme": "http", "SERVER_NAME": "inside", "SERVER_PORT": "8778", **more}


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"HTTP_HOST": "api.example:8080"}, "http://api.example:8080/traits/A"),
        ({"HTTP_HOST": "api.example:80"}, "http://api.example/traits/A"),
        ({"HTTP_HOST": "api.example:443"}, "http://api.example:443/traits/A"),
        (
            {"HTTP_HOST": "api.example:443", "wsgi.url_scheme": "https"},
            "https://api.example/traits/A",
        ),
        ({"HTTP_HOST": "[::1]:8080"}, "http://[::1]:8080/traits/A"),
        (
            {"HTTP_HOST": "api.example:8080", "SCRIPT_NAME": "/placement"},
            "http://api.example:8080/placement/traits/A",
        ),
        ({}, "http://inside:8778/traits/A"),
        ({"SERVER_PORT": "80"}, "http://inside/traits/A"),
    ],
)
def test_an_absolute_url_has_the_host_of_the_request(given, url):
    assert absolute_url(environ(**given), "/traits/A") == url


@pytest.mark.parametrize(
    ("given", "logged"),
    [
        ({"PATH_INFO": "/traits"}, "/traits"),
        ({"PATH_INFO": "/traits", "QUERY_STRING": "a=1"}, "/traits?a=1"),
        ({"PATH_INFO": "/traits", "SCRIPT_NAME": "/placement"}, "/placement/traits"),
        ({}, ""),
    ],
)
def test_the_logged_url_has_mount_point_path_and_query(given, logged):
    assert path_with_query(given) == logged


@pytest.mark.parametrize(
    "given",
    [{"HTTP_HOST": "a\r\n X: b"}, {"HTTP_HOST": "a\0"}, {"wsgi.url_scheme": "http\nX: b://"}],
)
def test_an_absolute_url_has_no_control_characters(given):
    assert absolute_url(environ() | given, "/traits/A").isprintable()


@pytest.mark.parametrize("path", ["/berth/v1", "/berth/v1/", "/berth/v1/claims", "/berth/v1//"])
def test_a_path_below_the_prefix_is_that_of_an_extension(path):
    assert is_below_prefix(path)


@pytest.mark.parametrize(
    "path", ["", "/", "/berth", "/berth/", "/berth/v10", "/x/berth/v1", "berth/v1"]
)
def test_a_path_beside_the_prefix_is_not(path):
    assert not is_below_prefix(path)
