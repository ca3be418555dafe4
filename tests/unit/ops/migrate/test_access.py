"""Rules and quotas are added, never changed; users are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shareq.client.errors import BrokerError
from shareq.ops.migrate.access import Entity, Rule, move
from shareq.protocol.errors import ErrorCode

READ: Rule = ("topic", "orders", "literal", "User:ann", "*", "read", "allow")
WRITE: Rule = ("topic", "orders", "literal", "User:bob", "*", "write", "allow")
ANN: Entity = (("user", "ann"),)
ALL: Entity = (("client-id", None),)


@dataclass
class MemoryAccess:
    """A cluster's rules, quotas and users."""

    known: list[Rule] | None = field(default_factory=list)
    limits: dict[Entity, dict[str, float]] = field(default_factory=dict)
    scram: Sequence[tuple[str, str]] = ()
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
            "SCRAM-SHA-256: no request shows its keys; shareq users set ann --mechanism SCRAM-SHA-256",
        ),
    ]
    assert new.known == [WRITE, READ]
    assert new.limits == {
        ANN: {"producer_byte_rate": 7.0, "consumer_byte_rate": 6.0},
        ALL: {"request_percentage": 50.0},
    }


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
