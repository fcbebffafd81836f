"""Write JSON (rest-api.md 1.4)."""

from placement.http.json_text import dumps


def test_json_has_blanks_after_separators_and_is_ascii():
    assert dumps({"a": [1, "\u2603"], "b": None}) == '{"a": [1, "\\u2603"], "b": null}'
