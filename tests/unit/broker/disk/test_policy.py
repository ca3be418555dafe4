"""Operations allowed on a nearly full disk, and when all are allowed again."""

from __future__ import annotations

import errno

import pytest

from shareq.broker.disk.policy import (
    DiskLimits,
    DiskSettings,
    DiskState,
    Use,
    admits,
    is_full,
    limits_of,
    next_state,
    room_for_reserve,
    use_of,
)
from shareq.broker.metadata.changes import (
    DropAcl,
    DropTopic,
    MetaChange,
    PutAcl,
    PutConfig,
    PutFeature,
    PutMeta,
    PutScram,
    PutTopic,
    ResourceName,
    TopicRow,
)
from shareq.broker.security.acls import Acl
from shareq.broker.security.credentials import CredentialKey, ScramCredential

OK, LOW, FULL, CRITICAL = DiskState
LIMITS = DiskLimits(low=1000, full=400, critical=100, reserve=50)
MIB = 1024**2
ACL = Acl(2, "t", 3, "User:a", "*", 3, 3)


def test_limits_are_as_configured_on_large_file_systems() -> None:
    limits = limits_of(DiskSettings(4096 * MIB, 256 * MIB, 32 * MIB), 1 << 40)
    assert limits == DiskLimits(4096 * MIB, 256 * MIB, 64 * MIB, 32 * MIB)


def test_limits_are_parts_of_small_file_systems() -> None:
    limits = limits_of(DiskSettings(4096 * MIB, 256 * MIB, 32 * MIB), 100 * MIB)
    assert limits == DiskLimits(10 * MIB, 5 * MIB, 5 * MIB // 4, 2 * MIB)


def test_the_warning_comes_no_later_than_the_refusal() -> None:
    assert limits_of(DiskSettings(0, 10 * MIB, 0), 1 << 40).low == 10 * MIB


@pytest.mark.parametrize(
    ("usable", "state"), [(1000, OK), (999, LOW), (400, LOW), (399, FULL), (100, FULL), (99, CRITICAL), (0, CRITICAL)]
)
@pytest.mark.parametrize("before", [OK, LOW, FULL, CRITICAL])
def test_a_state_gets_worse_at_once(before: DiskState, usable: int, state: DiskState) -> None:
    if state >= before:
        assert next_state(before, usable, LIMITS) is state


@pytest.mark.parametrize(
    ("before", "usable", "after"),
    [
        (CRITICAL, 124, CRITICAL),
        (CRITICAL, 125, FULL),
        (FULL, 400, FULL),
        (FULL, 499, FULL),
        (FULL, 500, LOW),
        (LOW, 1249, LOW),
        (LOW, 1250, OK),
        (CRITICAL, 1_000_000, OK),
    ],
)
def test_a_state_gets_better_with_a_quarter_more(before: DiskState, usable: int, after: DiskState) -> None:
    assert next_state(before, usable, LIMITS) is after


def test_the_reserve_never_makes_the_disk_full() -> None:
    assert room_for_reserve(551, 50, LIMITS)
    assert not room_for_reserve(550, 50, LIMITS)


@pytest.mark.parametrize(
    ("change", "refused_from"),
    [
        (PutTopic(TopicRow("new", bytes(16), 1, internal=False)), FULL),
        (PutTopic(TopicRow("old", bytes(16), 4, internal=False)), FULL),
        (PutTopic(TopicRow("old", bytes(16), 3, internal=False)), None),
        (PutTopic(TopicRow("__new", bytes(16), 50, internal=True)), None),
        (PutAcl(ACL), CRITICAL),
        (PutMeta("producer.id.next", "1000"), CRITICAL),
        (PutScram(CredentialKey("a", "SCRAM-SHA-256"), ScramCredential(b"s", b"k", b"v", 4096)), CRITICAL),
        (PutScram(CredentialKey("a", "SCRAM-SHA-256"), None), None),
        (DropTopic("old"), None),
        (DropAcl(ACL), None),
        (PutConfig(ResourceName("topic", "old"), "retention.ms", "1"), None),
        (PutFeature("share.version", 0), None),
    ],
)
def test_what_grows_is_refused_and_what_makes_room_is_not(change: MetaChange, refused_from: DiskState | None) -> None:
    for state in DiskState:
        taken = refused_from is None or state < refused_from
        assert admits(state, [DropTopic("other"), change], partitions_of={"old": 3}) is taken


@pytest.mark.parametrize(
    ("path", "use"),
    [
        ("log-start-offset-checkpoint", Use.MAKING_ROOM),
        ("clean-shutdown", Use.MAKING_ROOM),
        ("orders-1.0123-delete", Use.MAKING_ROOM),
        ("__share_group_state-7/00000000000000000000.log", Use.COORDINATORS),
        ("__consumer_offsets-7/", Use.COORDINATORS),
        ("orders-1/00000000000000000000.log", Use.CLIENTS),
        ("orders-1/00000000000000000000.index", Use.CLIENTS),
        ("orders-1/00000000000000000000.txnindex", Use.MAKING_ROOM),
        ("orders-1/00000000000000000007.snapshot", Use.MAKING_ROOM),
        ("orders-1/", Use.CLIENTS),
    ],
)
def test_what_the_reserve_is_for(path: str, use: Use) -> None:
    assert use_of(path) is use


def test_quotas_are_full_disks_too() -> None:
    assert is_full(OSError(errno.ENOSPC, ""))
    assert is_full(OSError(errno.EDQUOT, ""))
    assert not is_full(OSError(errno.EIO, ""))
    assert not is_full(OSError("without a number"))
