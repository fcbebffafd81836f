"""The rules of the drivers' contract, each held against many drivers by one test."""

from collections.abc import Mapping

from tests.offenders import assert_each
from virt.testing import DriverContract, Scenario


def rules_of(contract: type[DriverContract]) -> list[str]:
    """Return the names of the contract's tests, those of the contract it extends included."""
    return [name for name in dir(contract) if name.startswith("test_")]


def assert_kept(
    contract: type[DriverContract], rule: str, scenarios: Mapping[str, Scenario]
) -> None:
    """Run the test `rule` with every scenario; fail with the name of each that breaks it."""
    __tracebackhide__ = True
    cases = {name: (scenario,) for name, scenario in scenarios.items()}
    assert_each(cases, getattr(contract(), rule))
