"""UpdateFeatures: feature levels, and share groups that are switched off at run time."""

from __future__ import annotations

import errno
import logging

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
NONE = ErrorCode.NONE


@pytest.fixture
def world() -> BrokerWorld:
    return BrokerWorld()


def update(
    world: BrokerWorld, *updates: tuple[str, int, int], validate_only: bool = False, version: int = 2
) -> UpdateFeaturesResponse:
    """Update feature levels; each update is feature, level and kind."""
    keys = [
        FeatureUpdateKey(name, level, allow_downgrade=kind != UPGRADE)
        if version == 0
        else FeatureUpdateKey(name, level, upgrade_type=kind)
        for name, level, kind in updates
    ]
    request = UpdateFeaturesRequest(1_000, keys, validate_only)
    return world.connect().call(request, version, UpdateFeaturesResponse)


def levels(world: BrokerWorld) -> dict[str, int]:
    answer = world.connect().call(ApiVersionsRequest("test", "1"), 4, ApiVersionsResponse)
    return {feature.name: feature.max_version_level for feature in answer.finalized_features}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_off_and_on_again(version: int, world: BrokerWorld) -> None:
    off = update(world, ("share.version", 0, SAFE_DOWNGRADE), version=version)
    assert (off.error_code, off.error_message) == (NONE, None)
    assert [(row.feature, row.error_code) for row in off.results] == ([("share.version", NONE)] if version < 2 else [])
    assert "share.version" not in levels(world)
    world.restart()
    assert "share.version" not in levels(world)
    assert update(world, ("share.version", 1, UPGRADE), version=version).error_code == NONE
    assert levels(world)["share.version"] == 1


@pytest.mark.parametrize(
    ("name", "level", "kind"),
    [
        ("share.version", 0, UPGRADE),
        ("share.version", 3, UPGRADE),
        ("share.version", -1, SAFE_DOWNGRADE),
        ("share.version", 0, 0),
        ("share.version", 0, 4),
        ("no.such.feature", 1, UPGRADE),
        ("metadata.version", 29, SAFE_DOWNGRADE),
        ("metadata.version", 29, UNSAFE_DOWNGRADE),
    ],
)
def test_refused_updates_change_nothing_and_neither_do_those_beside_them(
    name: str, level: int, kind: int, world: BrokerWorld
) -> None:
    before = levels(world)
    answer = update(world, ("transaction.version", 1, SAFE_DOWNGRADE), (name, level, kind))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert f"{name}={level}" in (answer.error_message or "")
    assert levels(world) == before


def test_a_downgrade_does_not_raise_a_level(world: BrokerWorld) -> None:
    update(world, ("share.version", 0, SAFE_DOWNGRADE))
    answer = update(world, ("share.version", 1, SAFE_DOWNGRADE))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update(world, ("share.version", 0, UPGRADE)).error_code == NONE  # as it is


def test_validate_only_changes_nothing(world: BrokerWorld) -> None:
    assert update(world, ("share.version", 0, SAFE_DOWNGRADE), validate_only=True).error_code == NONE
    assert update(world, ("nope", 1, UPGRADE), validate_only=True).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert levels(world)["share.version"] == 2


def test_a_level_that_cannot_be_stored(world: BrokerWorld) -> None:

    def full(_changes: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    world.db.before_commit = full
    answer = update(world, ("share.version", 0, SAFE_DOWNGRADE))
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert levels(world)["share.version"] == 2


def test_dead_letters_are_switched_off_and_on_at_work(world: BrokerWorld) -> None:
    """Each update takes effect at once, and lasts over a restart."""
    assert world.services.metadata.dead_letters_enabled
    assert update(world, ("share.version", 1, UPGRADE)).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert world.services.metadata.dead_letters_enabled
    for level, kind, on in ((1, SAFE_DOWNGRADE, False), (2, UPGRADE, True), (1, UNSAFE_DOWNGRADE, False)):
        assert update(world, ("share.version", level, kind)).error_code == NONE
        assert world.services.metadata.dead_letters_enabled is on
        assert world.services.metadata.share_groups_enabled
        assert levels(world)["share.version"] == level
        world.restart()
        assert world.services.metadata.dead_letters_enabled is on


def test_members_go_on_while_dead_letters_are_switched_off(world: BrokerWorld) -> None:
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    append(world, "t", 4)
    member = ShareClient(world)
    member.join("t")
    assert member.acquire(place) == [(0, 3, 1)]
    update(world, ("share.version", 1, SAFE_DOWNGRADE))
    assert member.acknowledge(place, (0, 3, ACCEPT)) is NONE
    assert member.heartbeat().error_code == NONE


def test_switching_share_groups_off_at_work_keeps_groups_and_offsets(world: BrokerWorld) -> None:
    """Sessions and locks end, waiting requests are answered, and work resumes when share groups are on again."""
    place = (world.create_topic("t").topic_id, 0)
    from_the_start(world)
    append(world, "t", 10)
    member, waiting = ShareClient(world), ShareClient(world, "waiting")
    member.join("t")
    assert member.acquire(place) == [(0, 9, 1)]
    assert member.acknowledge(place, (0, 4, ACCEPT)) is NONE
    waiting.send_fetch(place, max_wait_ms=60_000)
    update(world, ("share.version", 0, SAFE_DOWNGRADE))
    assert waiting.fetch_answer().error_code == NONE
    assert member.acknowledge(place, (5, 9, ACCEPT)) is ErrorCode.UNSUPPORTED_VERSION
    assert member.heartbeat().error_code == ErrorCode.UNSUPPORTED_VERSION
    update(world, ("share.version", 1, UPGRADE))
    assert member.heartbeat().error_code == NONE
    assert member.acknowledge(place, (5, 9, ACCEPT)) is ErrorCode.SHARE_SESSION_NOT_FOUND
    member.session_epoch = 0
    assert member.acquire(place) == [(5, 9, 1)]


def test_refused_updates_fill_no_log(caplog: pytest.LogCaptureFixture, world: BrokerWorld) -> None:
    with caplog.at_level(logging.WARNING):
        for number in range(50):
            refused = update(world, (f"{number}" + "x" * 30_000, 1, UPGRADE))
            assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
        assert len(caplog.messages) == 10
        assert all(len(each) < 600 for each in caplog.messages)
        world.clock.advance(60_000)
    assert caplog.messages[-1].endswith("(40 such lines were left out, this is the last)")
