"""The page of messages is what the code says."""

import sys
from pathlib import Path

DOC = Path(__file__).parents[3] / "doc"
REFRESH = "run: python doc/messages_page.py"


def test_the_page_is_up_to_date_and_each_message_has_its_cure(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOC), *sys.path])
    import messages_page

    assert messages_page.PAGE.read_text() == messages_page.page(), REFRESH
