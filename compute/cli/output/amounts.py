"""Amounts in words for the terminal."""

from collections.abc import Mapping


def amounts_told(amounts: Mapping[str, int]) -> str:
    """Return `512 MEMORY_MB, 2 VCPU` or the like."""
    return ", ".join(f"{amount} {name}" for name, amount in sorted(amounts.items()))
