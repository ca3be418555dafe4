"""The authorizer's decisions, compared with a model that checks every ACL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.foundation.turn_budget import PAUSE
from shareq.broker.security.acls import Acl, AclFilter, Operation, PatternType, Permission, ResourceKind, acl_problem
from shareq.broker.security.authorizer import Authorizer
from tests.support.coroutines import finished

TOPIC, GROUP = ResourceKind.TOPIC, ResourceKind.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = Permission.ALLOW, Permission.DENY

NAMES = ("a", "ab", "abc", "b", "*")
PRINCIPALS = ("User:x", "User:y", "User:*")
HOSTS = ("1.1.1.1", "2.2.2.2", "*")
OPERATIONS = (
    Operation.ALL,
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)

acls = st.builds(
    Acl,
    st.sampled_from((TOPIC, GROUP)),
    st.sampled_from(NAMES),
    st.sampled_from((LITERAL, PREFIXED)),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from((ALLOW, DENY)),
)
filters = st.builds(
    AclFilter,
    st.sampled_from((ResourceKind.ANY, TOPIC, GROUP)),
    st.sampled_from((None, "", "abcd", *NAMES)),
    st.sampled_from(PatternType),
    st.sampled_from((None, *PRINCIPALS)),
    st.sampled_from((None, *HOSTS)),
    st.sampled_from((Operation.ANY, *OPERATIONS)),
    st.sampled_from(Permission),
)
questions = st.tuples(
    st.sampled_from(("User:x", "User:y", "User:z")),
    st.sampled_from(("1.1.1.1", "3.3.3.3")),
    st.sampled_from(OPERATIONS[1:]),
    st.sampled_from((TOPIC, GROUP)),
    st.sampled_from(("a", "ab", "abcd", "b", "c")),
)


def model(rules: list[Acl], question: tuple[str, str, int, int, str], allow_if_none: bool) -> bool:
    principal, host, operation, kind, name = question

    def about(acl: Acl) -> bool:
        if acl.kind != kind:
            return False
        if acl.pattern == PREFIXED:
            return name.startswith(acl.name)
        return acl.name in ("*", name)

    def who(acl: Acl) -> bool:
        return acl.principal in ("User:*", principal) and acl.host in ("*", host)

    def grants(acl: Acl) -> bool:
        implied = {operation, Operation.ALL}
        if operation == Operation.DESCRIBE:
            implied |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
        if operation == Operation.DESCRIBE_CONFIGS:
            implied.add(Operation.ALTER_CONFIGS)
        return acl.operation in implied

    there = [acl for acl in rules if about(acl)]
    if any(acl.permission == DENY and who(acl) and acl.operation in (operation, Operation.ALL) for acl in there):
        return False
    if any(acl.permission == ALLOW and who(acl) and grants(acl) for acl in there):
        return True
    return allow_if_none and not there


@given(st.lists(acls, max_size=8), st.lists(questions, max_size=8), st.booleans())
def test_decisions_are_those_of_the_model(
    rules: list[Acl], asked: list[tuple[str, str, Operation, ResourceKind, str]], allow_if_none: bool
) -> None:
    authorizer = Authorizer(allow_if_none=allow_if_none)
    authorizer.replace(rules)
    for question in asked:
        assert authorizer.allows(*question) == model(rules, question, allow_if_none)
        assert authorizer.allows(*question) == model(rules, question, allow_if_none), "asked again"


@given(st.lists(acls, max_size=6), st.lists(acls, max_size=6), questions)
def test_a_change_is_in_force_at_once(
    before: list[Acl], after: list[Acl], question: tuple[str, str, Operation, ResourceKind, str]
) -> None:
    authorizer = Authorizer()
    authorizer.replace(before)
    authorizer.allows(*question)
    generation = authorizer.generation
    authorizer.replace(after)
    assert authorizer.allows(*question) == model(after, question, False)
    assert authorizer.generation > generation


@given(
    st.lists(acls, max_size=6),
    st.lists(st.tuples(acls, st.booleans()), max_size=12),
    st.lists(questions, max_size=6),
    st.data(),
)
def test_changes_one_by_one_are_as_all_at_once(
    before: list[Acl],
    changes: list[tuple[Acl, bool]],
    asked: list[tuple[str, str, Operation, ResourceKind, str]],
    data: st.DataObject,
) -> None:
    """Some changes remove all ACLs of a resource, or all prefixes of a length."""
    going = data.draw(st.lists(st.sampled_from(before), max_size=6)) if before else []
    changes = [*changes, *((acl, False) for acl in going)]
    after = dict.fromkeys(before)
    for acl, goes_by in changes:
        if goes_by:
            after.setdefault(acl)
        else:
            after.pop(acl, None)
    authorizer, fresh = Authorizer(allow_if_none=True), Authorizer(allow_if_none=True)
    authorizer.replace(before)
    for question in asked:
        authorizer.allows(*question)
    authorizer.change(changes)
    fresh.replace(after)
    assert authorizer.acls() == list(after)
    for question in asked:
        assert authorizer.allows(*question) == fresh.allows(*question) == model(list(after), question, True)


@given(st.lists(acls, max_size=6), questions)
def test_super_users_may_do_everything(
    rules: list[Acl], question: tuple[str, str, Operation, ResourceKind, str]
) -> None:
    authorizer = Authorizer((question[0],))
    authorizer.replace(rules)
    assert authorizer.allows(*question)
    assert authorizer.allows_any(*question[:4])


def rule(
    name: str,
    operation: Operation,
    permission: Permission = ALLOW,
    *,
    pattern: PatternType = LITERAL,
    principal: str = "User:x",
    host: str = "*",
) -> Acl:
    return Acl(TOPIC, name, pattern, principal, host, operation, permission)


@pytest.mark.parametrize(
    ("rules", "may"),
    [
        ([], False),
        ([rule("t", Operation.WRITE)], True),
        ([rule("t", Operation.ALL)], True),
        ([rule("t", Operation.READ)], False),
        ([rule("*", Operation.WRITE)], True),
        ([rule("t", Operation.WRITE, principal="User:*")], True),
        ([rule("t", Operation.WRITE, principal="User:other")], False),
        ([rule("t", Operation.WRITE, host="9.9.9.9")], False),
        ([rule("*", Operation.WRITE, DENY), rule("t", Operation.WRITE)], False),
        ([rule("t", Operation.WRITE, DENY), rule("t", Operation.WRITE)], False),
        ([rule("t", Operation.WRITE, DENY), rule("u", Operation.WRITE)], True),
        ([rule("t", Operation.WRITE, DENY, pattern=PREFIXED), rule("tt", Operation.WRITE)], False),
        ([rule("t", Operation.WRITE, DENY, pattern=PREFIXED), rule("u", Operation.WRITE, pattern=PREFIXED)], True),
        ([rule("tt", Operation.WRITE, DENY, pattern=PREFIXED), rule("t", Operation.WRITE, pattern=PREFIXED)], True),
    ],
)
def test_whether_there_is_a_topic_one_may_write(rules: list[Acl], may: bool) -> None:
    """A producer without a transactional id and IDEMPOTENT_WRITE needs WRITE on any topic (KIP-679)."""
    authorizer = Authorizer()
    authorizer.replace(rules)
    assert authorizer.allows_any("User:x", "1.1.1.1", Operation.WRITE, TOPIC) is may


@pytest.mark.parametrize(("host", "may"), [("1.1.1.1", True), ("1.1.1.2", False)])
def test_any_resource_is_asked_for_from_the_clients_own_host(host: str, may: bool) -> None:
    """READ implies DESCRIBE, also for the question whether a client may describe any topic, but only from the ACL's
    host.
    """
    authorizer = Authorizer()
    authorizer.replace([rule("*", Operation.READ, host="1.1.1.1")])
    assert authorizer.allows_any("User:x", host, Operation.DESCRIBE, TOPIC) is may


def test_an_ipv6_address_may_be_written_in_full() -> None:
    authorizer = Authorizer()
    authorizer.replace([rule("t", Operation.READ, host="0:0:0:0:0:0:0:1")])
    assert authorizer.allows("User:x", "::1", Operation.READ, TOPIC, "t")
    assert not authorizer.allows("User:x", "::2", Operation.READ, TOPIC, "t")
    assert not authorizer.allows("User:x", "1.1.1.1", Operation.READ, TOPIC, "t")


@given(acls, st.sampled_from(NAMES))
def test_match_finds_every_acl_that_concerns_a_resource(acl: Acl, name: str) -> None:
    """All such ACLs match pattern type MATCH (KIP-290)."""
    concerned = acl.name in (name, "*") if acl.pattern == LITERAL else name.startswith(acl.name)
    assert AclFilter(name=name, pattern=PatternType.MATCH).matches(acl) == (concerned or acl.name == name)
    assert AclFilter(name=name).matches(acl) == (acl.name == name)
    assert AclFilter(name=name, pattern=LITERAL).matches(acl) == (acl.name == name and acl.pattern == LITERAL)


@given(st.lists(acls, max_size=12), st.lists(filters, max_size=12))
def test_many_filters_find_what_each_means(rules: list[Acl], wanted: list[AclFilter]) -> None:
    authorizer = Authorizer()
    authorizer.replace(rules)
    search = authorizer.search()
    for each in wanted:
        finished(search.prepare(each, lambda _elements: PAUSE))
    assert [search.matching(each) for each in wanted] == [
        [acl for acl in dict.fromkeys(rules) if each.matches(acl)] for each in wanted
    ]


@given(acls)
def test_every_field_of_a_filter_counts(acl: Acl) -> None:
    assert AclFilter().matches(acl)
    assert AclFilter(*acl).matches(acl)
    for field, other in (
        ("kind", ResourceKind.CLUSTER),
        ("name", "other"),
        ("principal", "User:other"),
        ("host", "other"),
        ("operation", Operation.CREATE),
    ):
        assert not AclFilter(*acl)._replace(**{field: other}).matches(acl)  # type: ignore[arg-type]
    turned = DENY if acl.permission == ALLOW else ALLOW
    assert not AclFilter(*acl)._replace(permission=turned).matches(acl)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": ResourceKind.ANY}, "resourceType"),
        ({"kind": 99}, "resourceType"),
        ({"kind": ResourceKind.CLUSTER}, "kafka-cluster"),
        ({"name": ""}, "empty resource name"),
        ({"pattern": PatternType.MATCH}, "patternType"),
        ({"pattern": PatternType.ANY}, "patternType"),
        ({"operation": Operation.ANY}, "operation"),
        ({"operation": 0}, "operation"),
        ({"permission": Permission.ANY}, "permissionType"),
        ({"principal": "x"}, "principal"),
    ],
)
def test_what_no_acl_can_be(change: dict[str, object], says: str) -> None:
    sound = rule("t", Operation.READ)
    assert acl_problem(sound) is None
    assert says in (acl_problem(sound._replace(**change)) or "")  # type: ignore[arg-type]


def test_remembered_decisions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shareq.broker.security.authorizer.MOST_REMEMBERED", 10)
    authorizer = Authorizer()
    for number in range(100):
        authorizer.allows("User:x", "1.1.1.1", Operation.READ, TOPIC, f"t{number}")
    assert len(authorizer._answers) <= 10
