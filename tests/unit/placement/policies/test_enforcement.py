"""Policy checks, their error messages, and the cache of results (rest-api.md 2.2)."""

import os
import sys

import pytest
from oslo_context.context import get_current

from placement import config
from placement.app import list_rules
from placement.errors import Forbidden
from placement.http.identity.authentication import RequestContext
from placement.policies.enforcement import SEARCH_INTERVAL, Policy, _all_of
from tests.clock import Clock
from tests.functional.forked import Forked


def policy(clock=None, **overrides):
    options = {("oslo_policy", name): value for name, value in overrides.items()}
    options["placement_database", "connection"] = "sqlite://"
    conf = config.load(files=[], environ=False, overrides=options)
    return Policy(conf, list_rules(), **({"clock": clock} if clock else {}))


def caller(roles="", user="u", project="p", scope=None):
    headers = {"HTTP_X_USER_ID": user, "HTTP_X_PROJECT_ID": project, "HTTP_X_ROLES": roles}
    return RequestContext().identified({**headers, "HTTP_OPENSTACK_SYSTEM_SCOPE": scope})


def refusal(asked, context, rule, target=None):
    try:
        asked.authorize(context, rule, target)
    except Forbidden as forbidden:
        return forbidden.message
    return None


LIST = "placement:resource_providers:list"
RESHAPE = "placement:reshaper:reshape"
USAGES = "placement:usages"
NO = "Policy does not allow {} to be performed."


def test_a_change_that_can_not_be_used_leaves_the_rules_as_they_are(tmp_path, caplog):
    file, clock = tmp_path / "policy.yaml", Clock(0.0)
    file.write_text(f"'{RESHAPE}': 'role:member'\n")
    asked = policy(clock, policy_file=str(file))
    for number in range(1, 4):
        file.write_text("x: [\n" * number)
        for _ in range(3):
            clock.now += 2 * SEARCH_INTERVAL
            assert refusal(asked, caller("member"), RESHAPE) is None
    assert caplog.text.count("the old rules stay in force") == 3
    file.write_text(f"'{RESHAPE}': 'role:operator'\n")
    clock.now += 2 * SEARCH_INTERVAL
    assert refusal(asked, caller("member"), RESHAPE) == NO.format(RESHAPE)


@pytest.mark.parametrize("roles", ["admin", "service", "ADMIN", " member , Service "])
def test_administrators_and_services_are_allowed(roles):
    assert refusal(policy(), caller(roles), LIST) is None


@pytest.mark.parametrize("roles", ["", "member", "reader", "administrator"])
def test_others_are_rejected(roles):
    assert refusal(policy(), caller(roles), LIST) == NO.format(LIST)


def test_only_services_may_reshape():
    asked = policy()
    answers = [refusal(asked, caller(role), RESHAPE) for role in ("service", "admin")]
    assert answers == [None, NO.format(RESHAPE)]


def test_with_the_old_defaults_an_administrator_may_reshape():
    assert refusal(policy(enforce_new_defaults=False), caller("admin"), RESHAPE) is None


def test_the_error_for_a_system_scoped_caller_is_the_rule_s_name():
    assert refusal(policy(), caller("admin", project=None, scope="all"), LIST) == LIST


def test_a_reader_may_read_its_own_project_only():
    asked = policy()
    answers = [refusal(asked, caller("reader"), USAGES, {"project_id": p}) for p in ("p", "q")]
    assert answers == [None, NO.format(USAGES)]


def test_results_are_cached_separately_for_each_caller():
    asked = policy()
    callers = [caller("admin"), caller(""), caller("admin", user="v"), caller("service")]
    answers = [[refusal(asked, one, RESHAPE) for one in callers] for _ in range(2)]
    no = NO.format(RESHAPE)
    assert answers == [[no, no, no, None]] * 2


def test_a_result_depends_on_all_that_a_rule_can_use():
    """oslo.context's dictionary for rules has the names of a context's attributes."""
    names = {name: f"its {name}" for name in RequestContext().to_policy_values()}
    names |= {"roles": ["a", "b"], "service_roles": ["c"], "is_admin_project": False}
    context = RequestContext(**names)
    assert dict(context.to_policy_values()) == names
    assert set(_all_of(context)) == {
        tuple(value) if isinstance(value, list) else value for value in names.values()
    }


def test_to_import_the_policy_is_no_request(forking):
    """oslo.log would write the id of a request that nobody sent into each line."""
    # it is forked from one that has imported all
    program = Forked(_tell_request, [], {**os.environ})
    assert program.communicate() == ("None True\n", "")


def _tell_request(arguments):
    print(get_current(), "placement.policies.enforcement" in sys.modules)
    return 0


@pytest.mark.parametrize("later", [-86_400, 0, 1])
def test_a_changed_file_applies_at_once(tmp_path, later):
    """Also one that is taken back with its time, or of the same moment."""
    path = tmp_path / "policy.yaml"
    path.write_text(f'"{LIST}": "@"\n')
    before = path.stat().st_mtime
    asked = policy(Clock(0.0), policy_file=str(path))
    assert refusal(asked, caller(), LIST) is None

    path.write_text(f'"{LIST}": "!"\n# longer, whatever the clock of the files\n')
    os.utime(path, (before + later, before + later))

    assert refusal(asked, caller(), LIST) == NO.format(LIST)


@pytest.mark.parametrize("half", [f'"{LIST}":', f'"{LIST}": [', ""])
def test_a_file_that_is_read_half_written_is_read_again(tmp_path, half):
    path = tmp_path / "policy.yaml"
    path.write_text(f'"{LIST}": "@"\n')
    asked = policy(Clock(0.0), policy_file=str(path))
    assert refusal(asked, caller(), LIST) is None
    load = asked._enforcer.load_rules

    def load_while_it_is_written(**options):
        asked._enforcer.load_rules = load
        try:
            load(**options)
        finally:
            path.write_text(f'"{LIST}": "role:reader"\n')

    asked._enforcer.load_rules = load_while_it_is_written
    path.write_text(half)
    refusal(asked, caller(), LIST)
    assert refusal(asked, caller(), LIST) == NO.format(LIST)
    assert refusal(asked, caller("reader"), LIST) is None


def test_a_new_file_applies_after_the_next_search(tmp_path):
    path, clock = tmp_path / "policy.yaml", Clock(0.0)
    asked = policy(clock, policy_file=str(path))
    assert refusal(asked, caller(), LIST) == NO.format(LIST)

    path.write_text(f'"{LIST}": "@"\n')
    clock.now += SEARCH_INTERVAL

    assert refusal(asked, caller(), LIST) is None


def test_a_file_replaces_rules_that_others_refer_to(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text('"admin_or_service_api": "role:operator"\n')
    asked = policy(policy_file=str(path))
    answers = [refusal(asked, caller(role), LIST) for role in ("operator", "admin")]
    assert answers == [None, NO.format(LIST)]


def test_every_rule_but_the_reader_s_is_for_projects():
    unscoped = [rule.name for rule in list_rules() if rule.scope_types != ["project"]]
    assert unscoped == ["project_reader_api"]


def mistakes(caplog):
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return found


def test_a_policy_file_that_is_named_and_missing_is_told(caplog, tmp_path):
    file = tmp_path / "placement.conf"
    file.write_text(
        "[placement_database]\nconnection = sqlite://\n"
        f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n"
    )
    Policy(config.load(files=[str(file)], environ=False), list_rules())
    assert mistakes(caplog) == [
        f"The policy file {tmp_path}/policy.yaml of [oslo_policy]policy_file isn't there: the "
        "default rules are in force."
    ]


def test_mistakes_in_rules_are_told_in_a_line_each_and_once(caplog, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(
        '"helper": "role:helper"\n'
        '"placement:usage": "rule:helper"\n'
        '"placement:resource_provider:list": "role:reader"\n'
        '"placement:traits:list": "role:reader or or"\n'
        '"placement:traits:show": "role:reader or nonsense"\n'
        '"placement:traits:delete": "!"\n'
    )
    clock = Clock(0.0)
    asked = policy(clock, policy_file=str(file))
    said = mistakes(caplog)
    assert said == [
        "Nobody asks for policy rule placement:usage. Do you mean placement:usages?",
        "Nobody asks for policy rule placement:resource_provider:list. Do you mean "
        "placement:resource_providers:list?",
        "Policy rule placement:traits:list can't be understood, so it refuses everybody: "
        "role:reader or or",
        "Policy rule placement:traits:show can't be understood, so it refuses everybody: "
        "role:reader or nonsense",
    ]
    clock.now += SEARCH_INTERVAL
    refusal(asked, caller("admin"), "placement:usages")
    assert mistakes(caplog) == []
