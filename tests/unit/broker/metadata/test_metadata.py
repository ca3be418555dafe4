"""Cluster metadata: the image, its commits, and crashes around a commit, on both databases."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.changes import (
    DropAcl,
    MetaChange,
    MetaDb,
    PutAcl,
    PutConfig,
    PutMeta,
    PutQuota,
    PutScram,
    ResourceName,
)
from shareq.broker.metadata.features import FEATURES
from shareq.broker.metadata.sqlite import SqliteMetaDb
from shareq.broker.metadata.store import MetadataStore, NewTopic
from shareq.broker.metadata.topic_names import MAX_LENGTH, name_error
from shareq.broker.quotas.entity import QuotaEntity
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.broker.security.credentials import CredentialKey, ScramCredential
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.primitives import uuid_from_text, uuid_to_text
from tests.support.worlds.admin_world import random_only

ACL = Acl(ResourceKind.TOPIC, "t", PatternType.LITERAL, "User:u", "*", Operation.READ, Permission.ALLOW)
CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)


class Crash(BaseException):
    """The death of the process."""


def crash(_changes: Sequence[MetaChange]) -> None:
    raise Crash


Reopen = Callable[[], MetaDb]


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Reopen:
    """Return a function that opens the same database again, as the next process would."""
    if request.param == "sqlite":
        return lambda: SqliteMetaDb(str(tmp_path / "meta.db"))
    memory = MemoryMetaDb()
    return lambda: memory


def store(db: MetaDb, seed: int = 1) -> MetadataStore:
    return MetadataStore(db, random_only(seed))


def test_no_id_looks_like_an_option_of_a_command_line_tool() -> None:
    """One id in 64 would begin with "-", which Apache Kafka avoids, too."""
    environment = random_only(1)
    texts = [uuid_to_text(environment.random_uuid()) for _ in range(1_000)]
    assert len(set(texts)) == 1_000
    assert not [text for text in texts if text.startswith("-")]


def test_a_fresh_database_gets_an_identity_that_stays(reopen: Reopen) -> None:
    first = store(reopen())
    assert len(uuid_from_text(first.cluster_id)) == 16
    assert dict(first.features) == {name: feature.initial for name, feature in FEATURES.items() if feature.initial}
    assert first.features_epoch == 1
    first.close()
    second = store(reopen(), seed=2)
    assert (second.cluster_id, second.features_epoch) == (first.cluster_id, 1)
    second.close()


def test_everything_survives_a_restart(reopen: Reopen) -> None:
    first = store(reopen())
    created = first.create_topics([NewTopic("a", 3, {"retention.ms": "5"}), NewTopic("__x", 1, internal=True)])
    first.create_partitions({"a": 4})
    first.alter_configs([PutConfig(ResourceName("group", "g"), "share.isolation.level", "read_committed")])
    first.set_features({"share.version": 0})
    first.close()
    second = store(reopen(), seed=2)
    assert second.topics() == [created[1], TopicImage("a", created[0].topic_id, 4)]
    assert second.topic("a") == second.topic_by_id(created[0].topic_id)
    assert second.configs("topic", "a") == {"retention.ms": "5"}
    assert second.configs("group", "g") == {"share.isolation.level": "read_committed"}
    assert second.config_names("group") == ["g"]
    assert not second.share_groups_enabled
    assert second.features_epoch == 2
    second.close()


def test_a_data_folder_of_kafka_4_3_keeps_its_levels_until_they_are_raised(reopen: Reopen) -> None:
    earlier = store(reopen())
    earlier.set_features({"metadata.version": 30, "share.version": 1})
    earlier.close()
    now = store(reopen(), seed=2)
    assert (now.features["metadata.version"], now.features["share.version"], now.features_epoch) == (30, 1, 2)
    assert now.share_groups_enabled
    assert not now.dead_letters_enabled
    now.set_features({"metadata.version": 33, "share.version": 2})
    assert now.dead_letters_enabled
    now.close()
    later = store(reopen(), seed=3)
    assert (later.features["metadata.version"], later.features["share.version"]) == (33, 2)
    later.close()


@pytest.mark.parametrize(("before", "after"), [(None, 2), (0, 2), (1, 1), (2, 2)])
def test_what_is_asked_to_be_on_keeps_its_level(before: int | None, after: int) -> None:
    db = MemoryMetaDb()
    if before is not None:
        store(db).set_features({"share.version": before})
    asked = MetadataStore(db, random_only(2), features={"share.version": None})
    assert asked.features["share.version"] == after


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_new_data_folder_starts_at_the_level_that_is_asked_for(level: int) -> None:
    metadata = MetadataStore(MemoryMetaDb(), random_only(), features={"share.version": level})
    assert metadata.features["share.version"] == level
    assert (metadata.share_groups_enabled, metadata.dead_letters_enabled) == (level >= 1, level == 2)


def test_deleting_removes_topic_and_properties_and_a_new_one_has_another_id(reopen: Reopen) -> None:
    first = store(reopen())
    old = first.create_topic(NewTopic("a", 1, {"retention.ms": "5"}))
    first.delete_topics(["a"])
    assert first.topic("a") is None
    assert first.topic_by_id(old.topic_id) is None
    first.close()
    second = store(reopen())
    assert (second.topics(), second.config_names("topic")) == ([], [])
    assert second.create_topic(NewTopic("a", 1)).topic_id != old.topic_id
    second.close()


def test_producer_ids_are_never_given_out_twice(reopen: Reopen) -> None:
    first = store(reopen())
    blocks = [first.allocate_producer_ids(1_000), first.allocate_producer_ids(10)]
    first.close()
    second = store(reopen())
    blocks.append(second.allocate_producer_ids(1_000))
    second.close()
    ids = [producer_id for block in blocks for producer_id in block]
    assert len(set(ids)) == len(ids) == 2010


def test_producer_ids_run_out_rather_than_wrap() -> None:
    db = MemoryMetaDb()
    store(db)
    db.commit([PutMeta("producer.id.next", str(2**63 - 5))])
    with pytest.raises(ValueError, match="used up"):
        store(db).allocate_producer_ids(1_000)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(
    "mutate",
    [
        lambda metadata: metadata.create_topics([NewTopic("b", 1), NewTopic("c", 2, {"retention.ms": "1"})]),
        lambda metadata: metadata.delete_topics(["a"]),
        lambda metadata: metadata.create_partitions({"a": 5}),
        lambda metadata: metadata.alter_configs([PutConfig(ResourceName("topic", "a"), "retention.ms", None)]),
        lambda metadata: metadata.set_features({"share.version": 0, "group.version": 0}),
        lambda metadata: metadata.allocate_producer_ids(1_000),
    ],
    ids=["create", "delete", "grow", "configure", "features", "producer ids"],
)
def test_a_crash_around_a_commit_leaves_all_of_it_or_nothing(
    mutate: Callable[[MetadataStore], object], committed: bool
) -> None:
    db, twin = MemoryMetaDb(), MemoryMetaDb()
    for each in (db, twin):
        store(each).create_topic(NewTopic("a", 2, {"retention.ms": "5"}))
    before = db.load()
    heard: list[object] = []
    dying = store(db, seed=7)
    dying.on_topics_changed(heard.append)
    dying.on_topics_deleted(heard.append)
    if committed:
        db.after_commit = crash
    else:
        db.before_commit = crash
    with pytest.raises(Crash):
        mutate(dying)
    assert heard == []  # nobody touches a folder before the commit
    mutate(store(twin, seed=7))
    assert db.load() == (twin.load() if committed else before)


@pytest.mark.parametrize(
    "mutate",
    [
        lambda metadata: metadata.create_topic(NewTopic("b", 1)),
        lambda metadata: metadata.delete_topics(["a"]),
        lambda metadata: metadata.create_partitions({"a": 5}),
        lambda metadata: metadata.set_features({"share.version": 0}),
    ],
)
def test_a_failed_commit_changes_nothing_and_the_next_one_works(mutate: Callable[[MetadataStore], object]) -> None:
    db = MemoryMetaDb()
    metadata = store(db)
    topic = metadata.create_topic(NewTopic("a", 2, {"retention.ms": "5"}))

    def no_space(_changes: Sequence[MetaChange]) -> None:
        raise OSError(28, "No space left on device")

    db.before_commit = no_space
    with pytest.raises(OSError, match="No space"):
        mutate(metadata)
    assert metadata.topics() == [topic]
    assert metadata.configs("topic", "a") == {"retention.ms": "5"}
    assert metadata.share_groups_enabled
    db.before_commit = None
    mutate(metadata)


@pytest.mark.parametrize(
    "alter",
    [
        lambda metadata: metadata.alter_configs([PutConfig(ResourceName("topic", "a"), "retention.ms", "1")]),
        lambda metadata: metadata.alter_acls([PutAcl(ACL)]),
        lambda metadata: metadata.alter_credentials([PutScram(CredentialKey("u", "SCRAM-SHA-256"), CREDENTIAL)]),
        lambda metadata: metadata.alter_quotas([PutQuota(QuotaEntity("u"), "producer_byte_rate", 1.0)]),
    ],
    ids=["configs", "acls", "credentials", "quotas"],
)
def test_a_change_that_cannot_be_stored_is_answered_at_once_and_notifies_nobody(
    alter: Callable[[MetadataStore], Pending[ApiError]],
) -> None:
    """The error is Apache Kafka's for a failed log directory; then the same change succeeds."""
    db = MemoryMetaDb()
    metadata = store(db)
    before, heard = db.load(), list[str]()
    metadata.on_config_changed(lambda _resource: heard.append("configs"))
    metadata.on_acls_changed(lambda _changes: heard.append("acls"))
    metadata.on_credentials_changed(lambda _changes: heard.append("credentials"))
    metadata.on_quotas_changed(lambda: heard.append("quotas"))

    def no_space(_changes: Sequence[MetaChange]) -> None:
        raise OSError(28, "No space left on device")

    db.before_commit = no_space
    failure = alter(metadata).value
    assert (failure.code, "No space" in (failure.message or "")) == (ErrorCode.KAFKA_STORAGE_ERROR, True)
    assert (db.load(), heard, metadata.acls, metadata.quotas) == (before, [], {}.keys(), {})
    db.before_commit = None
    assert alter(metadata).value == NO_ERROR
    assert len(heard) == 1
    assert db.load() != before


def test_listeners_hear_after_the_image_changed_and_one_failing_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metadata = store(MemoryMetaDb())
    heard: list[tuple[object, ...]] = []

    def fails(*_arguments: object) -> None:
        raise OSError("rename failed")

    def hears(what: str) -> Callable[[Sequence[TopicImage]], None]:
        return lambda topics: heard.append((what, [(each, metadata.topic(each.name) == each) for each in topics]))

    for add, what in ((metadata.on_topics_changed, "changed"), (metadata.on_topics_deleted, "deleted")):
        add(fails)
        add(hears(what))
    a, b = metadata.create_topics([NewTopic("a", 1), NewTopic("b", 1)])
    metadata.create_partitions({"a": 3})
    grown = a._replace(partitions=3)
    metadata.delete_topics(["b", "a"])
    assert heard == [
        ("changed", [(a, True), (b, True)]),
        ("changed", [(grown, True)]),
        ("deleted", [(b, False), (grown, False)]),
    ]
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["2 topics: a listener failed", "topic a: a listener failed", "2 topics: a listener failed"]


def test_the_log_reports_rights_in_words(caplog: pytest.LogCaptureFixture) -> None:
    """Readers of the log do not know the protocol's numbers; line breaks in names are escaped."""
    caplog.set_level(logging.INFO)
    topic, read, allow = ResourceKind.TOPIC, Operation.READ, Permission.ALLOW
    acl = Acl(topic, "orders\n", PatternType.LITERAL, "User:carol", "*", read, allow)
    metadata = store(MemoryMetaDb())
    metadata.alter_acls([PutAcl(acl)])
    metadata.alter_acls([DropAcl(acl)])
    reported = "ALLOW READ on LITERAL TOPIC 'orders\\n' for 'User:carol' from '*'"
    assert caplog.messages == [f"acl added: {reported}", f"acl removed: {reported}"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", "a\\b", "a b", "a\x00", "ä", "a:b", "a\n", "x" * (MAX_LENGTH + 1)]
)
def test_names_that_no_topic_can_have(name: str) -> None:
    assert name_error(name) is not None
    metadata = store(MemoryMetaDb())
    with pytest.raises(ValueError, match="invalid"):
        metadata.create_topic(NewTopic(name, 1))


@pytest.mark.parametrize("name", ["a", "...", "__x", "A-b_c.9", "x" * MAX_LENGTH])
def test_names_that_topics_can_have(name: str) -> None:
    assert name_error(name) is None
    assert store(MemoryMetaDb()).create_topic(NewTopic(name, 1)).name == name


def test_names_that_differ_in_dots_and_underscores_collide() -> None:
    metadata = store(MemoryMetaDb())
    metadata.create_topic(NewTopic("a.b", 1))
    assert metadata.colliding_topic("a_b") == "a.b"
    assert metadata.colliding_topic("a.b") is None
    assert metadata.colliding_topic("a-b") is None
    metadata.delete_topics(["a.b"])
    assert metadata.colliding_topic("a_b") is None


def test_what_the_caller_must_not_ask_for() -> None:
    metadata = store(MemoryMetaDb())
    metadata.create_topic(NewTopic("a", 2))
    with pytest.raises(ValueError, match="cannot be created"):
        metadata.create_topic(NewTopic("a", 1))
    with pytest.raises(ValueError, match="cannot be created"):
        metadata.create_topic(NewTopic("b", 0))
    with pytest.raises(ValueError, match="cannot change to 2"):
        metadata.create_partitions({"a": 2})
    with pytest.raises(KeyError):
        metadata.delete_topics(["b"])


def test_features_asked_for_at_start_are_stored() -> None:
    db = MemoryMetaDb()
    assert not MetadataStore(db, random_only(), features={"share.version": 0}).share_groups_enabled
    assert not MetadataStore(db, random_only()).share_groups_enabled
    again = MetadataStore(db, random_only(), features={"share.version": 1})
    assert again.share_groups_enabled
    assert again.features_epoch == 2


@pytest.mark.parametrize("levels", [{"share.version": 3}, {"share.version": -1}, {"nope": 1}, {"metadata.version": 6}])
def test_unknown_features_and_levels(levels: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="feature"):
        MetadataStore(MemoryMetaDb(), random_only(), features=levels)


def test_a_newer_format_is_refused() -> None:
    db = MemoryMetaDb()
    store(db)
    db.commit([PutMeta("format.version", "3")])
    with pytest.raises(OSError, match="format version 3, and this release reads up to 2"):
        store(db)


def test_a_database_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "meta.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(OSError, match=r"meta\.db could not be opened"):
        SqliteMetaDb(str(path))
    with pytest.raises(OSError, match="could not be opened"):
        SqliteMetaDb(str(tmp_path / "absent" / "meta.db"))


def test_a_sqlite_commit_that_fails_half_way_is_rolled_back(tmp_path: Path) -> None:
    db = SqliteMetaDb(str(tmp_path / "meta.db"))
    good = PutMeta("k", "v")
    bad = PutMeta("k2", None)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="could not be written"):
        db.commit([good, bad])
    assert db.load().meta == {}
    db.commit([good])
    db.close()
    db.close()
    again = SqliteMetaDb(str(tmp_path / "meta.db"))
    assert again.load().meta == {"k": "v"}
    again.close()


def test_sqlite_commits_are_synced_to_the_write_ahead_log(tmp_path: Path) -> None:
    """A power loss does not remove a commit."""
    db = SqliteMetaDb(str(tmp_path / "meta.db"))
    pragma = db._connection.execute
    assert pragma("PRAGMA journal_mode").fetchone() == ("wal",)
    assert pragma("PRAGMA synchronous").fetchone() == (2,)  # FULL
    db.close()
