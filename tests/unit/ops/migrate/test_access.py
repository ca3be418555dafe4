"""ACLs, quotas and users are added and never changed; users whose keys cannot move are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shareq.client.admin.users import KeptCredential
from shareq.client.errors import BrokerError
from shareq.ops.migrate.access import Entity, Rule, move
from shareq.ops.migrate.report import Outcome
from shareq.protocol.errors import ErrorCode

READ: Rule = ("topic", "orders", "literal", "User:ann", "*", "read", "allow")
WRITE: Rule = ("topic", "orders", "literal", "User:bob", "*", "write", "allow")
ANN: Entity = (("user", "ann"),)
ALL: Entity = (("client-id", None),)


@dataclass
class MemoryAccess:
    known: list[Rule] | None = field(default_factory=list)
    limits: dict[Entity, dict[str, float]] = field(default_factory=dict)
    scram: Sequence[tuple[str, str]] = ()
    kept: list[KeptCredential] | None = None
    refuses: BrokerError | None = None

    def rules(self) -> Sequence[Rule] | None:
        return self.known

    def add_rules(self, rules: Sequence[Rule]) -> Sequence[BrokerError | None]:
        assert self.known is not None
        if self.refuses is None:
            self.known += rules
        return [self.refuses] * len(rules)

    def quotas(self) -> Mapping[Entity, Mapping[str, float]] | None:
        return self.limits

    def set_quota(self, entity: Entity, limits: Mapping[str, float]) -> BrokerError | None:
        if self.refuses is None:
            self.limits.setdefault(entity, {}).update(limits)
        return self.refuses

    def users(self) -> Sequence[tuple[str, str]] | None:
        return self.scram

    def credentials(self) -> Sequence[KeptCredential] | None:
        return self.kept

    def add_credentials(self, credentials: Sequence[KeptCredential]) -> Sequence[BrokerError | None] | None:
        if self.kept is None:
            return None
        return [self._add(each) for each in credentials]

    def _add(self, credential: KeptCredential) -> BrokerError | None:
        assert self.kept is not None
        known = next((each for each in self.kept if each[:2] == credential[:2]), None)
        if known is None:
            self.kept.append(credential)
        return None if known in (None, credential) else BrokerError(ErrorCode.DUPLICATE_RESOURCE, credential.user)


def old() -> MemoryAccess:
    limits = {ANN: {"producer_byte_rate": 5.0, "consumer_byte_rate": 6.0}, ALL: {"request_percentage": 50.0}}
    return MemoryAccess([READ, WRITE], limits, [("ann", "SCRAM-SHA-256"), ("bob", "SCRAM-SHA-512")])


def test_what_is_missing_is_added_and_what_differs_is_left() -> None:
    new = MemoryAccess([WRITE], {ANN: {"producer_byte_rate": 7.0}}, [("bob", "SCRAM-SHA-512")])
    rows = [(row.kind, row.name, row.outcome, row.note) for row in move(old(), new, "moved")]
    assert rows == [
        ("acl", "User:ann", "moved", "topic orders literal User:ann * read allow"),
        ("acl", "User:bob", "moved", "topic orders literal User:bob * write allow"),
        ("quota", "client-id default", "moved", "request_percentage=50"),
        ("quota", "user ann", "moved", "consumer_byte_rate=6"),
        ("quota", "user ann", "left", "producer_byte_rate=5: the target has 7"),
        (
            "user",
            "ann",
            "left",
            "SCRAM-SHA-256: the source does not show its keys; shareq users set ann --mechanism SCRAM-SHA-256",
        ),
    ]
    assert new.known == [WRITE, READ]
    assert new.limits == {
        ANN: {"producer_byte_rate": 7.0, "consumer_byte_rate": 6.0},
        ALL: {"request_percentage": 50.0},
    }


def user(name: str, key: bytes = b"key") -> KeptCredential:
    return KeptCredential(name, "SCRAM-SHA-256", 4096, b"salt", key, key)


def moved_users(new: MemoryAccess, done: Outcome = "moved") -> list[tuple[str, str, str]]:
    source = MemoryAccess(scram=[("ann", "SCRAM-SHA-256"), ("bob", "SCRAM-SHA-256")], kept=[user("ann"), user("bob")])
    return [(row.name, row.outcome, row.note) for row in move(source, new, done) if row.kind == "user"]


def test_users_move_with_their_keys_and_one_that_the_target_has_otherwise_is_left() -> None:
    new = MemoryAccess(kept=[user("bob", b"another")])
    assert moved_users(new, "planned") == [("ann", "planned", "SCRAM-SHA-256"), ("bob", "planned", "SCRAM-SHA-256")]
    assert new.kept == [user("bob", b"another")]
    for _ in range(2):
        (ann, bob) = moved_users(new)
        assert ann == ("ann", "moved", "SCRAM-SHA-256")
        assert bob[:2] == ("bob", "left")
        assert "DUPLICATE_RESOURCE" in bob[2]
    assert new.kept == [user("bob", b"another"), user("ann")]


def test_users_are_named_where_the_target_takes_no_keys() -> None:
    (row,) = moved_users(MemoryAccess(scram=[("bob", "SCRAM-SHA-256")]))
    assert row[:2] == ("ann", "left")
    assert row[2].startswith("SCRAM-SHA-256: the target takes no keys, as Apache Kafka; shareq users set ann")


def test_a_plan_changes_nothing() -> None:
    new = MemoryAccess()
    assert {row.outcome for row in move(old(), new, "planned")} == {"planned", "left"}
    assert (new.known, new.limits) == ([], {})


def test_what_the_target_refuses_is_refused() -> None:
    new = MemoryAccess(refuses=BrokerError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "quotas"))
    outcomes = [(row.kind, row.outcome) for row in move(old(), new, "moved") if row.kind != "user"]
    assert outcomes == [("acl", "refused")] * 2 + [("quota", "refused")] * 3


def test_a_target_without_an_authorizer_takes_no_rules() -> None:
    rows = [row for row in move(old(), MemoryAccess(None), "moved") if row.kind == "acl"]
    assert [row.outcome for row in rows] == ["left", "left"]
    assert rows[0].note.endswith("the target has no authorizer, or does not show its rules")
