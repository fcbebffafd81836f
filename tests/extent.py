"""How much a test of drawn examples tries: in the ordinary run, and with `--thorough`."""

#: whether this is a thorough run; set before any test is imported
thorough = False


def examples(few: int, many: int) -> int:
    """Return how many examples to draw: few, or many in a thorough run."""
    return many if thorough else few
