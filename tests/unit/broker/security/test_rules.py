"""The rules of access control and authentication one by one: filters, principals, PLAIN, the states of SASL."""

from __future__ import annotations

import pytest

from shareq.broker.foundation.turn_budget import PAUSE, Pause
from shareq.broker.security.acl_search import AclSearch
from shareq.broker.security.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceKind,
    acl_problem,
    filter_is_known,
)
from shareq.broker.security.authorizer import Authorizer
from shareq.broker.security.credentials import ScramCredential
from shareq.broker.security.names import parse_principal, user
from shareq.broker.security.rights import RIGHTS, WRITE_TOPIC
from shareq.broker.security.sasl_mechanisms import AuthenticationFailed, PlainExchange
from shareq.broker.security.sasl_session import REAUTHENTICATION_INTERVAL_MS, Answer, SaslSession, SaslState
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from tests.support.coroutines import finished

TOPIC, GROUP = ResourceKind.TOPIC, ResourceKind.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def acl(
    name: str = "t",
    pattern: int = LITERAL,
    *,
    kind: int = TOPIC,
    principal: str = "User:alice",
    host: str = "*",
    operation: int = Operation.READ,
    permission: int = Permission.ALLOW,
) -> Acl:
    return Acl(kind, name, pattern, principal, host, operation, permission)


# -- ACLs and filters


def test_a_filter_is_known_when_each_of_its_numbers_is() -> None:
    assert filter_is_known(AclFilter())
    assert filter_is_known(AclFilter(TOPIC, "t", PatternType.MATCH, None, None, Operation.READ, Permission.DENY))
    for unknown in (
        AclFilter(kind=99),
        AclFilter(pattern=99),
        AclFilter(operation=99),
        AclFilter(permission=99),
        AclFilter(kind=0),
        AclFilter(pattern=0),
        AclFilter(operation=0),
        AclFilter(permission=0),
    ):
        assert not filter_is_known(unknown), unknown


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (acl(kind=ResourceKind.ANY), "Invalid resourceType 1"),
        (acl(kind=99), "Invalid resourceType 99"),
        (acl(""), "Invalid empty resource name"),
        (acl(pattern=PatternType.MATCH), "Invalid patternType 2"),
        (acl(operation=Operation.ANY), "Invalid operation 1"),
        (acl(permission=Permission.ANY), "Invalid permissionType 1"),
        (acl(principal="alice"), "Could not parse principal from `alice`: it must be TYPE:NAME"),
        (acl(kind=ResourceKind.CLUSTER), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (acl("kafka-cluster", kind=ResourceKind.CLUSTER), None),
        (acl(), None),
    ],
)
def test_what_makes_an_acl_impossible(broken: Acl, problem: str | None) -> None:
    assert acl_problem(broken) == problem


ACLS = [
    acl("t"),
    acl("*"),
    acl("", PREFIXED, principal="User:bob"),
    acl("to", PREFIXED),
    acl("topic", PREFIXED),
    acl("topics", PREFIXED),
    acl("topic"),
    acl("topic", kind=GROUP),
    acl("top", PREFIXED, operation=Operation.WRITE, permission=Permission.DENY, host="10.0.0.1"),
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclFilter(), [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (AclFilter(name="topic"), [4, 6, 7]),
        (AclFilter(name="topic", pattern=LITERAL), [6, 7]),
        (AclFilter(name="topic", pattern=PREFIXED), [4]),
        (AclFilter(name="topic", pattern=PatternType.MATCH), [1, 2, 3, 4, 6, 7, 8]),
        (AclFilter(kind=TOPIC, name="topic", pattern=PatternType.MATCH), [1, 2, 3, 4, 6, 8]),
        (AclFilter(name="to", pattern=PatternType.MATCH), [1, 2, 3]),
        (AclFilter(name="*", pattern=PatternType.MATCH), [1, 2]),
        (AclFilter(pattern=PatternType.MATCH), [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (AclFilter(principal="User:bob"), [2]),
        (AclFilter(host="10.0.0.1"), [8]),
        (AclFilter(operation=Operation.WRITE), [8]),
        (AclFilter(permission=Permission.DENY), [8]),
        (AclFilter(kind=GROUP), [7]),
    ],
)
def test_the_acls_that_a_filter_means(wanted: AclFilter, found: list[int]) -> None:
    expected = [ACLS[number] for number in found]
    authorizer = Authorizer()
    authorizer.replace(ACLS)
    search = AclSearch(ACLS)
    assert [acl for acl in authorizer.acls() if wanted.matches(acl)] == expected
    breaths: list[int] = []

    def breathe(elements: int) -> Pause:
        breaths.append(elements)
        return PAUSE

    for _ in range(2):
        finished(search.prepare(wanted, breathe))
        assert search.matching(wanted) == expected
    assert sum(breaths) in (0, len(ACLS), 2 * len(ACLS)), "nothing is looked through again"


def test_what_an_authorizer_goes_by() -> None:
    authorizer = Authorizer()
    authorizer.replace(ACLS[:2])
    assert (len(authorizer), ACLS[0] in authorizer, ACLS[3] in authorizer) == (2, True, False)


def test_an_address_is_the_same_however_it_is_written_and_no_other() -> None:
    authorizer = Authorizer()
    authorizer.replace([acl(host="::1")])
    assert authorizer.allows("User:alice", "0:0:0:0:0:0:0:1", Operation.READ, TOPIC, "t")
    for host in ("::2", "1", "no:address", "127.0.0.1"):
        assert not authorizer.allows("User:alice", host, Operation.READ, TOPIC, "t")
    authorizer.replace([acl(host="no:address")])
    assert not authorizer.allows("User:alice", "::1", Operation.READ, TOPIC, "t")
    assert authorizer.allows("User:alice", "no:address", Operation.READ, TOPIC, "t")


def test_anything_of_a_kind_is_asked_for_a_host() -> None:
    authorizer = Authorizer()
    authorizer.replace([acl(host="10.0.0.1")])
    assert authorizer.allows_any("User:alice", "10.0.0.1", Operation.READ, TOPIC)
    assert not authorizer.allows_any("User:alice", "10.0.0.2", Operation.READ, TOPIC)
    authorizer.replace([acl("*", host="10.0.0.1")])
    assert authorizer.allows_any("User:alice", "10.0.0.1", Operation.READ, TOPIC)
    assert not authorizer.allows_any("User:alice", "10.0.0.2", Operation.READ, TOPIC)


def test_apache_kafkas_name_that_hardly_anybody_has() -> None:
    authorizer = Authorizer()
    for name, allowed in (("hardcode", True), ("other", False)):
        authorizer.replace([acl(name)])
        assert authorizer.allows_any("User:alice", "h", Operation.DESCRIBE, TOPIC) is allowed


# -- names and rights


@pytest.mark.parametrize("text", ["", ":", "User", "User:", ":alice"])
def test_texts_that_are_no_principals(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no principal: it must be TYPE:NAME, for example User:alice"):
        parse_principal(text)


def test_the_name_of_a_principal_may_have_colons() -> None:
    assert parse_principal("User:a:b") == ("User", "a:b")
    assert user("a:b") == "User:a:b"


def test_a_right_knows_its_operation_its_kind_and_its_error() -> None:
    right = WRITE_TOPIC
    assert (right.operation, right.kind, right.error) == (
        Operation.WRITE,
        TOPIC,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    )
    errors = {right.kind: right.error for rights in RIGHTS.values() for right in rights}
    assert errors == {
        TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ResourceKind.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ResourceKind.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }


def test_a_credential_shows_nothing() -> None:
    assert repr(ScramCredential(b"salt", b"stored", b"server", 4096)) == "ScramCredential([hidden])"


# -- PLAIN

WRONG = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\xff\0a\0b", "Invalid SASL/PLAIN response: not UTF-8"),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0wonderland\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0" * 9, "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0wonderland", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0Wonderland", WRONG),
        (b"\0nobody\0wonderland", WRONG),
        (
            b"bob\0alice\0wonderland",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_what_plain_refuses(token: bytes, message: str) -> None:
    exchange = PlainExchange({"alice": "wonderland"})
    with pytest.raises(AuthenticationFailed) as failed:
        exchange.respond(token)
    assert (str(failed.value), exchange.user) == (message, None)


@pytest.mark.parametrize("token", [b"\0alice\0wonderland", b"alice\0alice\0wonderland"])
def test_what_plain_takes(token: bytes) -> None:
    exchange = PlainExchange({"alice": "wonderland"})
    answer: tuple[bytes, str | None] = (exchange.respond(token), exchange.user)
    assert answer == (b"", "alice")


# -- the states of SASL


def session(reauth_ms: int = 0) -> SaslSession:
    users = {"alice": "wonderland", "bob": "builder"}
    return SaslSession(lambda _mechanism: PlainExchange(users), lambda _mechanism: reauth_ms)


GOOD = b"\0alice\0wonderland"


def test_a_token_needs_a_mechanism_that_was_agreed_on() -> None:
    made = session()
    assert (made.state, made.raw, made.principal, made.for_ever) == (SaslState.START, False, None, False)
    with pytest.raises(AuthenticationFailed, match=r"^No SASL mechanism was agreed on$"):
        made.token(GOOD, 0)
    made.handshake("PLAIN", 0, raw=True)
    assert (made.raw, made.state) == (True, SaslState.TOKENS)
    assert not made.handshake("PLAIN", 0, raw=False)
    assert made.raw
    assert made.token(GOOD, 0) == Answer(b"", 0)
    assert (made.state, made.principal, made.for_ever) == (SaslState.DONE, "User:alice", True)
    with pytest.raises(AuthenticationFailed, match=r"^No SASL mechanism was agreed on$"):
        made.token(GOOD, 0)


def test_a_session_without_an_end_is_not_authenticated_again() -> None:
    made = session()
    made.handshake("PLAIN", 0, raw=False)
    made.token(GOOD, 0)
    assert not made.handshake("PLAIN", 0, raw=False)
    assert made.refusal(ApiKey.METADATA, 10**9) is None


def test_a_session_ends_in_its_time_and_takes_a_handshake_then() -> None:
    made = session(5_000)
    made.handshake("PLAIN", 100, raw=False)
    assert made.token(GOOD, 100) == Answer(b"", 5_000)
    assert not made.for_ever
    assert made.refusal(ApiKey.METADATA, 5_100) is None
    expired = "its session has expired, and it did not authenticate again"
    assert made.refusal(ApiKey.METADATA, 5_101) == expired
    assert made.refusal(ApiKey.SASL_HANDSHAKE, 5_101) is None
    assert made.handshake("PLAIN", 5_101, raw=False)
    made.token(GOOD, 5_101)
    too_early = 5_100 + REAUTHENTICATION_INTERVAL_MS
    assert not made.handshake("PLAIN", too_early, raw=False)
    assert made.handshake("PLAIN", too_early + 1, raw=False)
    with pytest.raises(AuthenticationFailed, match=r"^Cannot change principals during re-authentication$"):
        made.token(b"\0bob\0builder", too_early + 1)


def test_another_mechanism_is_refused_the_second_time() -> None:
    made = session(5_000)
    made.handshake("PLAIN", 0, raw=False)
    made.token(GOOD, 0)
    assert made.handshake("SCRAM-SHA-256", 1_000, raw=False)
    with pytest.raises(AuthenticationFailed, match="mechanism 'SCRAM-SHA-256' requested by client is not supported"):
        made.token(GOOD, 1_000)
    assert made.principal == "User:alice"
