"""A claim of nothing."""

import pytest

from compute.resource_tracker.claims.claim import NopClaim


def test_a_claim_of_nothing_can_be_aborted():
    with pytest.raises(RuntimeError), NopClaim():
        raise RuntimeError
