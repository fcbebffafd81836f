"""Who may move, in the words of a question to placement."""

from compute.maintenance.moving import moving_guests
from compute.maintenance.moving.moving_guests import MovingGuests

TYPES = ("INSTANCE", "unknown")


def test_those_are_named_who_may_move():
    guests = MovingGuests(able=["a", "b"], others=["m"])
    assert guests.movable(["b"]) == {
        "consumer_types": TYPES,
        "only": ["a", "b"],
        "except": ["b"],
    }


def test_if_they_are_too_many_those_are_named_who_stay(monkeypatch):
    monkeypatch.setattr(moving_guests, "MOST_ASKED", 1)
    guests = MovingGuests(able=["a", "b"], others=["c", "m"])
    assert guests.movable(["b", "c"]) == {"consumer_types": TYPES, "except": ["b", "c", "m"]}
