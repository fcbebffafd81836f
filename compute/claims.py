"""Claims, under the name that nova's developers import."""

from compute.resource_tracker.claims.claim import Claim, MoveClaim, NopClaim

__all__ = ["Claim", "MoveClaim", "NopClaim"]
