"""Commands that only read send no write, and leave database and records as they are."""

import re

import pytest

from compute.records.instance import Flavor
from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.adopted import NEW, NOTHING
from tests.functional.compute.maintenance.counted_kills import QUESTIONS
from tests.functional.compute.maintenance.http_service import described
from tests.functional.compute.maintenance.site import FLAVOR, HOST, INVENTORY
from tests.offenders import assert_each
from tests.page_code import text_of
from virt.fake import FakeNUMAReshapeDriver, MediumFakeDriver

SMALL = Flavor(vcpus=2, memory_mb=2048, root_gb=20, name="small")
BURNED = {"CUSTOM_CARD": {"total": 1, "max_unit": 1, "reserved": 1}}
ONE_USE = ["HW_PCI_ONE_TIME_USE"]
#: command → its words; DEVICE, REMOVED and RELEASED stand for what the site has
LOOKING = {
    "tree": ("tree",),
    "consumers": ("consumers",),
    "request": ("request", "--flavor", "small"),
    "explain": ("explain", "--flavor", "small"),
    "capacity": ("capacity", "--all-flavors"),
    "evacuable": ("evacuable", HOST, "--moves"),
    "make_room": ("make_room", "--flavor", "small"),
    "survives": ("survives",),
    "drain": ("drain", "--host", HOST, "--plan"),
    "audit": ("audit", "--suspects", "--all"),
    "devices": ("devices",),
    "audit --delete --dry-run": ("audit", "--delete", "--dry-run"),
    "audit --undo --dry-run": ("audit", "--undo", "REMOVED", "--dry-run"),
    "devices --release --dry-run": ("devices", "--release", "DEVICE", "--dry-run"),
    "devices --undo --dry-run": ("devices", "--undo", "RELEASED", "--dry-run"),
    "heal --dry-run": ("heal_allocations", "--dry-run"),
    "migrate --dry-run": ("migrate_compute_inventory", "--dry-run"),
    "migrate --sync --dry-run": ("migrate_compute_inventory", "--dry-run", "--sync"),
    "adopt --dry-run": ("adopt_provider", "--name", "host9", "--uuid", NEW, "--dry-run"),
}


@pytest.fixture
def site(sqlite_site):
    """Return a host on which every command that writes would have something to write."""
    root = sqlite_site.started(MediumFakeDriver)
    with sqlite_site.placement() as outsider:
        card = outsider.provider(f"{HOST}_0000:81:00.0", root, BURNED, ONE_USE)
        released = outsider.provider(f"{HOST}_0000:82:00.0", root, BURNED, ONE_USE)
        outsider.provider("host2", None, INVENTORY, ["OWNER_NOVA"])
        outsider.provider("host9", None, INVENTORY)
        outsider.allocate({root: FLAVOR}, sqlite_site.guest(flavor=SMALL, vm_state="active"))
        outsider.allocate({root: {"VCPU": 1}})
    removed, gone = (str(sqlite_site.folder / name) for name in ("removed", "released"))
    assert sqlite_site.run("audit", "--delete", "--journal", removed).code == 4
    assert sqlite_site.run("devices", "--release", released, "--journal", gone).code == 0
    with sqlite_site.placement() as outsider:
        outsider.allocate({root: {"VCPU": 1}})
    sqlite_site.guest(flavor=SMALL, vm_state="active")
    sqlite_site.configure(f"fake.{FakeNUMAReshapeDriver.__name__}")
    sqlite_site.words = {"DEVICE": card, "REMOVED": removed, "RELEASED": gone}
    return sqlite_site


def files(site):
    """Return name → content of all but the database, which others have open, too."""
    paths = (path for path in site.folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in paths if "placement.db" not in path.name}


def test_nothing_is_written(site, monkeypatch):
    sent = []
    for verb in ("post", "put", "delete"):
        send = getattr(Transport, verb)

        def noting(client, url, *args, _send=send, **kwargs):
            # a reshape of nothing asks whether its user may
            if not url.startswith(QUESTIONS) and args[:1] != (NOTHING,):
                sent.append(url)
            return _send(client, url, *args, **kwargs)

        monkeypatch.setattr(Transport, verb, noting)

    def check(*words):
        before = (site.rows(), files(site))
        sent.clear()
        ended = site.run(*(site.words.get(word, word) for word in words))
        assert (ended.code in (0, 3, 4), ended.err) == (True, ""), ended
        assert ended.out
        assert sent == []
        assert (site.rows(), files(site)) == before

    assert_each(LOOKING, check)


def test_the_manual_lists_these_commands():
    page = " ".join(text_of("nova_manage.rst").split())
    (listed,) = re.findall(r"Commands that only read \((.*?)\) send no writes", page)
    names = set(re.findall(r"``([a-z]\w*)[` ]", listed))
    assert names == {words[0] for words in LOOKING.values() if "--dry-run" not in words}


@pytest.mark.parametrize("command", ["tree", "audit", "heal_allocations", "sync_aggregates"])
def test_with_database_no_service_is_asked(sqlite_site, command):
    sqlite_site.started(MediumFakeDriver)
    sqlite_site.configure(more=described("http://127.0.0.1:9"))
    assert sqlite_site.run(command).code in (1, 2, 3)
    assert sqlite_site.run(command, "--database").code in (0, 4)


def test_a_migration_asks_no_service_though_one_is_configured(sqlite_site):
    sqlite_site.started(MediumFakeDriver)
    sqlite_site.configure("fake.FakeNUMAReshapeDriver", described("http://127.0.0.1:9"))
    assert sqlite_site.run("migrate_compute_inventory").code == 0
