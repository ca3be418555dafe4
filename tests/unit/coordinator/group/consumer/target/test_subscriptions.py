"""Subscriptions by pattern (RE2), and static members."""

from __future__ import annotations

import pytest

from shareq.coordinator.group.consumer_groups import ConsumerGroupLimits
from shareq.protocol.errors import ErrorCode
from tests.unit.coordinator.group.consumer.world import INTERVAL_MS, SESSION_MS, ConsumerWorld
from tests.unit.coordinator.support import Topics


def orders() -> ConsumerWorld:
    return ConsumerWorld(Topics(**{"orders-a": 1, "orders-b": 1, "other": 1, "my-orders-c": 1}))


def test_a_pattern_matches_whole_names_and_the_first_answer_has_them() -> None:
    world = orders()
    assert world.reported(world.join("m1", None, regex="orders-.*")) == {"orders-a": {0}, "orders-b": {0}}
    assert "ConsumerGroupRegularExpressionValue" in world.log.value_types()
    assert world.group.group_epoch == 2


def test_a_pattern_matches_only_what_its_member_may_know_of() -> None:
    world = orders()
    world.visible = lambda topic: topic != "orders-b"
    assert world.reported(world.join("m1", None, regex="orders-.*")) == {"orders-a": {0}}


def test_names_and_a_pattern_go_together() -> None:
    world = orders()
    assert world.reported(world.join("m1", ("other",), regex="orders-a")) == {"other": {0}, "orders-a": {0}}


@pytest.mark.parametrize("regex", ["(", "a(?=b)", r"(a)\1", "[z-a]", "a**"])
def test_what_is_no_pattern_is_refused_and_changes_nothing(regex: str) -> None:
    world = orders()
    answer = world.join("m1", None, regex=regex)
    assert answer.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert regex in (answer.error_message or "")
    assert world.log.shard.list_groups().response == []


def test_a_pattern_that_would_take_others_for_ever() -> None:
    world = ConsumerWorld(Topics(**{"a" * 200: 1}))
    assert world.reported(world.join("m1", None, regex="(a*)*(a*)*(a*)*b")) == {}


def test_new_topics_are_matched_when_the_last_time_is_ten_seconds_ago() -> None:
    world = orders()
    world.join("m1", None, regex="orders-.*")
    world.topics.create("orders-z", 1)
    world.log.shard.topics_changed(("orders-z",))
    world.log.advance(10_000)
    assert world.reported(world.beat("m1")) is None
    world.log.advance(1)
    reported = world.reported(world.beat("m1"))
    assert reported is not None
    assert set(reported) == {"orders-a", "orders-b", "orders-z"}


def test_patterns_are_matched_again_after_a_while_without_news() -> None:
    world = ConsumerWorld(Topics(**{"orders-a": 1}), ConsumerGroupLimits(regex_refresh_interval_ms=30_000))
    world.visible = lambda _topic: False
    assert world.reported(world.join("m1", None, regex="orders-.*")) == {}
    world.visible = lambda _topic: True
    world.log.advance(30_000)
    assert world.reported(world.beat("m1")) is None
    world.log.advance(1)
    assert world.reported(world.beat("m1")) == {"orders-a": {0}}


def test_a_pattern_goes_with_its_last_member() -> None:
    world = orders()
    for name in ("m1", "m2"):
        world.join(name, None, regex="orders-.*")
    world.leave("m1")
    assert set(world.group.resolved) == {"orders-.*"}
    world.beat("m2", regex="other", owned={})
    assert set(world.group.resolved) == {"other"}
    world.leave("m2")
    assert world.group.resolved == {}


def test_an_empty_pattern_ends_the_subscription_by_pattern() -> None:
    world = orders()
    world.join("m1", ("other",), regex="orders-.*")
    world.log.advance(INTERVAL_MS)
    assert world.reported(world.beat("m1", regex="", owned={"other": {0}})) == {"other": {0}}


def test_patterns_survive_a_restart() -> None:
    world = orders()
    world.join("m1", None, regex="orders-.*")
    before = world.group.resolved
    world.log.reload()
    assert world.group.resolved == before
    assert world.reported(world.beat("m1")) is None


# -- static members


def test_a_static_member_that_comes_back_has_what_it_had_and_nobody_else_moves(world: ConsumerWorld) -> None:
    world.join("m1", instance="i1")
    world.join("m2", instance="i2")
    world.settle("m1", "m2")
    epoch, had = world.group.group_epoch, world.has("m2")
    assert world.leave("m2", -2, "i2") is ErrorCode.NONE
    assert (world.group.group_epoch, world.has("m2")) == (epoch, had)
    again = world.join("m2-again", instance="i2")
    assert (world.reported(again), again.member_epoch) == (had, epoch)
    assert set(world.group.members) == {"m1", "m2-again"}
    assert world.group.group_epoch == epoch
    world.log.advance(SESSION_MS - 1)
    world.beat("m1")
    assert set(world.group.members) == {"m1", "m2-again"}, "the session of the one it replaced is over"


def test_a_static_member_that_does_not_come_back_goes_after_its_session(world: ConsumerWorld) -> None:
    world.join("m1", instance="i1")
    world.leave("m1", -2, "i1")
    world.log.advance(SESSION_MS)
    assert world.group.members == {}


def test_an_instance_id_that_is_in_use_is_not_given_away(world: ConsumerWorld) -> None:
    world.join("m1", instance="i1")
    assert world.join("m2", instance="i1").error_code == ErrorCode.UNRELEASED_INSTANCE_ID


def test_a_replaced_static_member_is_fenced(world: ConsumerWorld) -> None:
    world.join("m1", instance="i1")
    world.leave("m1", -2, "i1")
    world.join("m2", instance="i1")
    assert world.beat("m1", 2, instance="i1").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.leave("m1", -1, "i1") is ErrorCode.FENCED_INSTANCE_ID
    assert world.leave("m2", -1, "unheard of") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_comes_back_after_a_restart(world: ConsumerWorld) -> None:
    world.join("m1", instance="i1")
    world.leave("m1", -2, "i1")
    world.log.reload()
    assert world.reported(world.join("m2", instance="i1")) == {"foo": {0, 1, 2, 3}}


def test_a_static_member_that_comes_back_with_another_subscription_gets_that() -> None:
    world = ConsumerWorld(Topics(foo=2, bar=2))
    world.join("m1", instance="i1")
    world.leave("m1", -2, "i1")
    world.log.advance(INTERVAL_MS)
    assert world.reported(world.join("m2", ("bar",), instance="i1")) == {"bar": {0, 1}}
