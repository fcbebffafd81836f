"""Tags are removed from messages as webob removes them (rest-api.md 1.6)."""

import hypothesis.strategies as st
import pytest
import webob.exc
from hypothesis import given

from placement.http.error_body import strip_tags

PARTS = ["<", ">", "<br", "<BR />", "<!--", "-->", "--", "a", " ", "\n", "\r", "<b>", "</b>"]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_tags_are_removed_as_webob_removes_them(text):
    assert strip_tags(text) == webob.exc.strip_tags(text)


@pytest.mark.parametrize("part", ["<", "<br", "<!--<", "-->", "< >", "<br<"])
def test_a_megabyte_of_unfinished_tags_is_processed_quickly(part):
    text = part * (1_000_000 // len(part))

    assert len(strip_tags(text)) <= len(text)
