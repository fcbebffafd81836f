"""Every command beside every other actor: each write of one is a moment in which another acts.

Afterwards all commands run again, and the cloud is as if each had been alone.
"""

import pytest

from compute.report.wire.transport import Transport
from tests.functional.compute.maintenance.adopted import NOTHING
from tests.functional.compute.maintenance.counted_kills import QUESTIONS
from tests.functional.compute.maintenance.second_actors import Cloud

WRITERS = ("adopt", "migrate", "heal", "heal --force", "audit --delete", "release", "sync")
READERS = (
    *("audit", "heal --dry-run", "migrate --dry-run", "devices", "drain", "tree", "consumers"),
    *("evacuable", "explain", "capacity"),
)
OTHERS = ("agent", "scheduler", "leaver")
#: the one that an ordinary run has meet all others: it moves most
FIRST = ("adopt",)


@pytest.fixture
def site(sqlite_site):
    """Use SQLite alone: the rules are about who acts, not about databases."""
    return sqlite_site


@pytest.fixture
def cloud(site):
    with site.placement() as outsider:
        yield Cloud(site, outsider)


@pytest.fixture
def beside(cloud, monkeypatch):
    """Return a function that has a command run, and others act before each of its requests.

    :param others: those who act before the first, the second and so on; the last ones go on
    """

    def run(first, *others, verbs=("post", "put", "delete")):
        acting, moments = [], []

        def meeting(verb):
            send = getattr(Transport, verb)

            def meet(client, url, *args, **kwargs):
                is_moment = not url.startswith(QUESTIONS) and args[:1] != (NOTHING,)
                if is_moment and not acting:
                    acting.append(True)
                    cloud.check_room()
                    for other in others[min(len(moments), len(others) - 1)]:
                        cloud.act(other)
                        cloud.check_room()
                        cloud.check_lives()
                    moments.append(url)
                    acting.clear()
                return send(client, url, *args, **kwargs)

            return meet

        with monkeypatch.context() as patched:
            for verb in verbs:
                patched.setattr(Transport, verb, meeting(verb))
            cloud.act(first)
        cloud.check_room()
        cloud.check_lives()
        return moments

    return run


def mended(cloud, up_to=None):
    """Run the commands in order; with `up_to`, only those before it."""
    codes = {}
    for name in cloud.commands:
        if name == up_to:
            break
        codes[name] = cloud.act(name)
    return codes


def test_all_commands_one_after_the_other_mend_the_cloud(cloud):
    assert set(mended(cloud).values()) <= {0, 4}
    cloud.check_mended()
    assert mended(cloud) == {
        **dict.fromkeys(WRITERS, 0),
        "heal": 4,
        "heal --force": 0,
    }
    cloud.check_mended()
    assert cloud.act("audit") == 0


def test_an_agent_beside_an_adoption_opens_no_room(cloud, beside):
    """A host without guests was reported between two steps: its room was given out twice."""
    assert beside("adopt", ["agent", "scheduler"])
    mended(cloud)
    cloud.check_mended()


@pytest.mark.parametrize(
    "first",
    [one if one in FIRST else pytest.param(one, marks=pytest.mark.thorough) for one in WRITERS],
)
def test_a_command_beside_all_others(cloud, beside, first):
    """All others act before its first write, and another run of its own before the second."""
    mended(cloud, first)
    others = [one for one in (*OTHERS, *WRITERS) if one != first]
    assert beside(first, others, [first])
    mended(cloud)
    cloud.check_mended()


@pytest.mark.thorough
@pytest.mark.parametrize("second", [*WRITERS, *OTHERS])
@pytest.mark.parametrize("first", WRITERS)
def test_a_command_beside_one_other_before_each_write(cloud, beside, first, second):
    mended(cloud, first)
    assert beside(first, [second])
    mended(cloud)
    cloud.check_mended()


@pytest.mark.thorough
@pytest.mark.parametrize("first", WRITERS)
def test_a_command_beside_others_one_before_each_write_from_the_beginning(cloud, beside, first):
    """What other commands mend before it is not mended yet."""
    others = [[one] for one in (*OTHERS, *READERS, *WRITERS) if one != first]
    beside(first, *others)
    mended(cloud)
    cloud.check_mended()


@pytest.mark.thorough
@pytest.mark.parametrize("first", ["drain", "audit"])
def test_a_command_that_reads_beside_all_who_write(cloud, beside, first):
    mended(cloud, "heal")
    everybody = [[one] for one in ("scheduler", *WRITERS, *OTHERS)]
    assert beside(first, *everybody, verbs=("get",))
    mended(cloud)
    cloud.check_mended()


@pytest.mark.thorough
@pytest.mark.parametrize("first", READERS)
def test_a_command_that_reads_beside_a_claiming_scheduler(cloud, beside, first):
    mended(cloud, "heal")
    beside(first, ["scheduler"], verbs=("get",))
    mended(cloud)
    cloud.check_mended()
