"""The devices that a driver lists (compute.md §4.1)."""

from compute.pci import devices as pci_devices


def test_a_list_in_json_is_read():
    listed = {"pci_passthrough_devices": '[{"address": "a"}]'}
    assert pci_devices.devices_of(listed) == [{"address": "a"}]


def card(slot, count):
    """Return a card and its functions."""
    name = f"0000:{slot}:00"
    whole = {"address": f"{name}.0", "dev_type": "type-PF"}
    return [
        whole,
        *(
            {"address": f"{name}.{n}", "dev_type": "type-VF", "parent_addr": f"{name}.0"}
            for n in range(1, count + 1)
        ),
    ]


def assigned(requests, free, ordered=()):
    found = pci_devices.assign(requests, list(ordered), free)
    return found and [device["address"] for device in found]


def wants(count=1, **tags):
    return {"count": count, "spec": [tags]}


class TestAssign:
    """Which devices requests get."""

    def test_whom_one_device_alone_suits_gets_it(self):
        free = [{"address": name} for name in "abc"]
        requests = [wants(), wants(), wants(address="a")]
        assert assigned(requests, free) in (["b", "c", "a"], ["c", "b", "a"])

    def test_an_ordered_device_is_given_and_may_serve_any_request(self):
        free = [{"address": name} for name in "abc"]
        found = assigned([wants(), wants(address="b")], free[:2], free[2:])
        assert found == ["c", "b"]
        assert assigned([wants(address="a")], free[:2], free[2:]) is None

    def test_a_card_and_a_function_come_of_two_cards(self):
        free = [*card("01", 2), *card("02", 2)]
        requests = [wants(dev_type="type-VF"), wants(dev_type="type-PF")]
        assert assigned(requests, free) == ["0000:01:00.1", "0000:02:00.0"]
        assert assigned(requests, free[:3]) is None


def test_who_has_a_device_rules_its_card_and_functions_out():
    listed = [*card("01", 2), *card("02", 1)]
    owners = {"0000:01:00.2": "guest", "0000:02:00.0": "other"}
    assert pci_devices.ruled_out(listed, owners) == {
        "0000:01:00.0": "guest",
        "0000:02:00.1": "other",
    }
