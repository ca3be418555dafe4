"""Records of the metadata shared by nodes: of this release, of later ones, and foreign ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.broker.metadata.changes import (
    DropAcl,
    MetaChange,
    MetaState,
    PutAcl,
    PutConfig,
    PutMeta,
    PutQuota,
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.quotas.entity import DEFAULT, QuotaEntity
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.credentials import SCRAM_MECHANISMS, CredentialKey, ScramCredential
from shareq.cluster.state.config_records import OwnSecret, differences, is_kept, read, record_of

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
secrets = st.binary(max_size=8)
names = st.none() | st.just(DEFAULT) | texts
configs = st.builds(
    PutConfig, st.builds(ResourceName, st.sampled_from(["group", "broker"]), texts), texts, st.none() | texts
)
acls = st.builds(
    Acl,
    st.sampled_from([ResourceKind.TOPIC, ResourceKind.GROUP]).map(int),
    texts,
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]).map(int),
    texts.map(lambda name: f"User:{name}"),
    texts,
    st.sampled_from([Operation.READ, Operation.ALL]).map(int),
    st.sampled_from([Permission.ALLOW, Permission.DENY]).map(int),
)
users = st.builds(
    PutScram,
    st.builds(CredentialKey, texts, st.sampled_from(SCRAM_MECHANISMS)),
    st.none() | st.builds(ScramCredential, secrets, secrets, secrets, st.integers(1, 2**31 - 1)),
)
entities = st.builds(QuotaEntity, names, names) | texts.map(lambda ip: QuotaEntity(ip=ip))
quotas = st.builds(
    PutQuota,
    entities.filter(lambda entity: any(name is not None for name in entity)),
    st.just("request_percentage"),
    st.none() | st.floats(0.5, 1e9),
).map(lambda quota: quota if quota.entity.ip is None else quota._replace(key="connection_creation_rate", value=None))
changes: st.SearchStrategy[MetaChange] = configs | acls.map(PutAcl) | acls.map(DropAcl) | users | quotas


def state_of(made: list[MetaChange]) -> MetaState:
    state = MetaState()
    for change in made:
        state.apply(change)
    return state


@given(changes)
def test_what_is_written_is_read(change: MetaChange) -> None:
    record = record_of(change)
    found = read(record.key, record.value)
    assert (type(found), found) == (type(change), change)
    assert is_kept(change)


@given(st.lists(changes, max_size=30))
def test_the_last_record_of_a_key_says_what_a_row_is(made: list[MetaChange]) -> None:
    """Compaction loses nothing, because only the last record of a key counts."""
    last = {record.key: record for record in map(record_of, made)}
    kept = [read(record.key, record.value) for record in last.values()]
    assert state_of([change for change in kept if change is not None and not isinstance(change, str | OwnSecret)]) == (
        state_of(made)
    )


@given(st.lists(changes, max_size=20), st.lists(changes, max_size=20))
def test_differences_make_one_state_of_the_other(before: list[MetaChange], after: list[MetaChange]) -> None:
    was, will = state_of(before), state_of(after)
    made = list(differences(was, will))
    for change in made:
        was.apply(change)
    assert was == will
    assert list(differences(was, will)) == []
    assert len(made) == len({record_of(change).key for change in made})


@given(st.one_of(st.none(), st.binary(max_size=60)), st.one_of(st.none(), st.binary(max_size=60)))
def test_bytes_of_nobody_are_passed_over(key: bytes | None, value: bytes | None) -> None:
    assert isinstance(read(key, value), str | None)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=6), inner, max_size=6),
    max_leaves=10,
)
fields = st.sampled_from(["format", "value", "salt", "stored_key", "server_key", "iterations", "secret"])


@given(
    st.sampled_from(["configs", "acls", "scram", "quotas", "secrets", "topics", "meta"]),
    st.lists(json_values, max_size=8),
    st.none() | st.dictionaries(fields, json_values, max_size=6).map(lambda row: {"format": 1, **row}),
)
def test_what_makes_no_sense_is_passed_over(table: str, named: list[object], row: dict[str, object] | None) -> None:
    """Programs that are no nodes can write to the topic, and must not stop a node."""
    found = read(json.dumps([table, *named]).encode(), None if row is None else json.dumps(row).encode())
    if found is not None and not isinstance(found, str | OwnSecret):
        assert is_kept(found)


def record(key: list[object], **row: object) -> object:
    return read(json.dumps(key).encode(), json.dumps(row).encode())


def test_a_later_releases_columns_are_passed_over() -> None:
    change = record(["configs", "group", "g", "share.order"], format=1, value="key", author="User:a", why=[1, {}])
    assert change == PutConfig(ResourceName("group", "g"), "share.order", "key")


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (["rules", "r"], {"format": 1}),
        (["configs", "group", "g", "k", "of a tenant"], {"format": 1, "value": "v"}),
        (["configs", "group", "g", "k"], {"format": 2, "value": {"v": 1}}),
    ],
)
def test_what_only_a_later_release_understands_is_passed_over_whole(key: list[object], row: dict[str, object]) -> None:
    assert record(key, **row) is None


@pytest.mark.parametrize(
    ("key", "row"),
    [
        (["configs", "topic", "t", "retention.ms"], {"format": 1, "value": "1"}),
        (["configs", "group", "", "k"], {"format": 1, "value": "1"}),
        (["configs", "group", "g", "k"], {"format": 1, "value": "\ud800"}),
        (["configs", "group", "g", "k"], {"format": True, "value": "1"}),
        (["configs", "group", "g", "k"], {"value": "1"}),
        (["acls", 2, "t", 3, "nobody", "*", 3, 3], {"format": 1}),
        (["acls", 2, "t", 99, "User:a", "*", 3, 3], {"format": 1}),
        (["acls", True, "t", 3, "User:a", "*", 3, 3], {"format": 1}),
        (["scram", "u", "PLAIN"], {"format": 1, "salt": "", "stored_key": "", "server_key": "", "iterations": 9}),
        (
            ["scram", "u", "SCRAM-SHA-256"],
            {"format": 1, "salt": "x", "stored_key": "", "server_key": "", "iterations": 9},
        ),
        (["quotas", "=u", "", "", "producer_byte_rate"], {"format": 1, "value": "nan"}),
        (["quotas", "", "", "", "producer_byte_rate"], {"format": 1, "value": "1.0"}),
        (["secrets", "a"], {"format": 1}),
    ],
)
def test_what_is_wrong_is_said(key: list[object], row: dict[str, object]) -> None:
    assert isinstance(record(key, **row), str)


def test_topics_and_the_like_are_not_kept_here() -> None:
    assert not is_kept(PutTopic(TopicRow("t", b"t" * 16, 1, internal=False)))
    assert not is_kept(PutMeta("cluster.id", "c"))
    assert not is_kept(PutConfig(ResourceName("topic", "t"), "retention.ms", "1"))


def test_a_secret_has_a_key_of_its_own() -> None:
    """The first secret in the log counts, so compaction must not remove it for another node's."""
    first, second = OwnSecret("a", b"1" * 32), OwnSecret("b", b"2" * 32)
    assert record_of(first).key != record_of(second).key
    assert read(record_of(first).key, record_of(first).value) == first
