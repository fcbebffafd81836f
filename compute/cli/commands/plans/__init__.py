"""Commands that plan moves of guests: `make_room` and `survives`."""
