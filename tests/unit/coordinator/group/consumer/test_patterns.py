"""Matching topics to patterns incrementally, with the work spread over heartbeats."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareq.coordinator.group.consumer import patterns
from shareq.coordinator.group.consumer.patterns import PatternMatches, PatternsUnavailable
from shareq.protocol.generated.consumer_group_regular_expression import ConsumerGroupRegularExpressionKey
from tests.unit.coordinator.group.consumer.world import GROUP, ConsumerWorld
from tests.unit.coordinator.support import Topics

NAMES = st.frozensets(st.sampled_from(["a", "ab", "abc", "b", "ba", "c"]))
REGEXES = ("a.*", "a|b", ".*c", "^ab$", "none")


def matched(regex: str, names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if re.fullmatch(regex, name))


@given(st.lists(st.tuples(NAMES, st.lists(st.sampled_from(REGEXES)), st.frozensets(st.sampled_from(REGEXES)))))
def test_matches_are_those_of_all_topics_and_only_new_topics_are_matched(
    steps: list[tuple[frozenset[str], list[str], frozenset[str]]],
) -> None:
    matches = PatternMatches()
    seen: dict[str, frozenset[str]] = {}
    for names, asked, kept in steps:
        matches.look_at(names)
        for regex in asked:
            assert matches.topics(regex) == (matched(regex, names), len(names - seen.get(regex, frozenset())))
            seen[regex] = names
        matches.keep(kept)
        seen = {regex: each for regex, each in seen.items() if regex in kept}


def many(patterns: int, topics: int) -> tuple[ConsumerWorld, list[str]]:
    """Return a group of `patterns` members, each with a pattern of its own that all topics match."""
    world = ConsumerWorld(Topics(**{f"topic-{number}": 1 for number in range(topics)}))
    members = [f"m{number}" for number in range(patterns)]
    for member_id in members:
        world.join(member_id, None, regex=f"({member_id}|topic)-.*")
    return world, members


def results_written(world: ConsumerWorld) -> int:
    return sum(isinstance(record.key, ConsumerGroupRegularExpressionKey) for record in world.log.last)


def resolved(world: ConsumerWorld) -> set[frozenset[str]]:
    return {each.topics for each in world.group.resolved.values()}


def test_a_topic_that_all_patterns_match_is_reported_by_a_few_heartbeats_each_of_some_patterns() -> None:
    world, members = many(patterns=6, topics=2_000)
    world.log.advance(10_001)
    world.topics.create("topic-new", 1)
    world.log.shard.topics_changed(("topic-new",))
    written = []
    for member_id in members:
        world.beat(member_id)
        written.append(results_written(world))
    assert sum(written) == len(members), written
    assert max(written) == 2, written
    assert resolved(world) == {frozenset(world.topics.names())}


def test_after_a_restart_patterns_are_matched_again_a_few_at_a_time_and_nothing_is_written_that_is_known() -> None:
    world, members = many(patterns=6, topics=2_000)
    world.log.reload()
    looks: list[str] = []

    def is_visible(topic: str) -> bool:
        looks.append(topic)
        return True

    world.visible = is_visible
    epoch = world.group.group_epoch
    for member_id in members:
        before = len(looks)
        world.beat(member_id)
        assert results_written(world) == 0
        assert len(looks) - before <= 4_000
    assert len(looks) == 6 * 2_000, "each pattern once"
    assert world.group.group_epoch == epoch


def test_topics_that_come_and_go_while_a_round_is_under_way() -> None:
    world, members = many(patterns=6, topics=2_000)
    world.log.reload()
    for member_id in members[:2]:
        world.beat(member_id)
    gone = world.topics.delete("topic-7").name
    world.topics.create("topic-new", 1)
    world.log.shard.topics_changed((gone, "topic-new"))
    for member_id in members[2:]:
        world.beat(member_id)
    assert len(resolved(world)) == 2, "the first two patterns were done before"
    world.log.advance(10_001)
    for member_id in members:
        world.beat(member_id)
    assert resolved(world) == {frozenset(world.topics.names())}


def test_a_pattern_that_comes_is_matched_at_once_while_a_round_is_under_way() -> None:
    world, members = many(patterns=6, topics=2_000)
    world.log.reload()
    world.beat(members[0])
    reported = world.reported(world.join("late", None, regex="topic-7"))
    assert reported is not None
    assert world.group.resolved["topic-7"].topics == {"topic-7"}


def test_new_patterns_do_not_keep_others_from_new_topics() -> None:
    world = ConsumerWorld(Topics(**{"orders-a": 1}))
    world.join("m1", None, regex="orders-.*")
    world.topics.create("orders-b", 1)
    world.log.shard.topics_changed(("orders-b",))
    for number in range(3):
        world.log.advance(6_000)
        world.join(f"new-{number}", None, regex=f"none-{number}")
        world.beat("m1")
    assert world.group.resolved["orders-.*"].topics == {"orders-a", "orders-b"}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(["a", "ab", "b", "ba"])),
        st.tuples(st.just("delete"), st.sampled_from(["a", "ab", "b", "ba"])),
        st.tuples(st.just("hide"), st.sampled_from(["a", "ab", "b", "ba"])),
        st.tuples(st.just("show"), st.sampled_from(["a", "ab", "b", "ba"])),
        st.tuples(st.just("subscribe"), st.sampled_from(["m0 a.*", "m1 a.*", "m1 .*b", "m2 .*"])),
        st.tuples(st.just("leave"), st.sampled_from(["m1", "m2"])),
        st.tuples(st.just("wait"), st.sampled_from(["10001", "600001"])),
        st.tuples(st.just("restart"), st.just("")),
    )
)


@given(STEPS)
def test_in_the_end_patterns_match_what_exists_and_may_be_known_of(steps: Sequence[tuple[str, str]]) -> None:
    """Topics, ACLs and members change; the results must equal those of matching everything again."""
    world = ConsumerWorld(Topics(a=1, b=1))
    hidden: set[str] = set()
    world.visible = lambda topic: topic not in hidden
    regexes = {"m0": ".*"}
    world.join("m0", None, regex=".*")
    for what, which in [*steps, ("wait", "600001")]:
        _apply(world, hidden, regexes, what, which)
    names = frozenset(world.topics.names())
    expected = {regex: matched(regex, names) - hidden for regex in regexes.values()}
    assert {regex: each.topics for regex, each in world.group.resolved.items()} == expected


def _apply(world: ConsumerWorld, hidden: set[str], regexes: dict[str, str], what: str, which: str) -> None:
    if what == "create" and world.topics.topic(which) is None:
        world.topics.create(which, 1)
        world.log.shard.topics_changed((which,))
    elif what == "delete" and world.topics.topic(which) is not None:
        topic = world.topics.delete(which)
        world.log.run(world.log.shard.topics_deleted({topic.topic_id: which}))
    elif what == "hide":
        hidden.add(which)
    elif what == "show":
        hidden.discard(which)
    elif what == "subscribe":
        member_id, regexes[member_id] = which.split()
        if member_id in world.group.members:
            world.beat(member_id, regex=regexes[member_id])
        else:
            world.join(member_id, None, regex=regexes[member_id])
    elif what == "leave" and which in regexes:
        del regexes[which]
        world.leave(which)
    elif what == "restart":
        world.log.reload()
    elif what == "wait":
        _wait(world, regexes, int(which))


def _wait(world: ConsumerWorld, regexes: dict[str, str], ms: int) -> None:
    """Pass the time while all members send heartbeats, also at the end."""
    while ms:
        step = min(ms, 40_000)
        ms -= step
        world.log.advance(step)
        for member_id in regexes:
            has = world.has(member_id)
            world.beat(member_id, owned={topic: has[topic] for topic in has if world.topics.topic(topic) is not None})


def test_what_patterns_matched_goes_with_their_members() -> None:
    world = ConsumerWorld(Topics(**{"orders-a": 1}))
    world.join("m1", None, regex="orders-.*")
    world.join("m2", None, regex=".*")
    matches = world.log.shard.consumer.activity(GROUP).matches
    matches.look_at(frozenset(["orders-a"]))
    assert matches.topics(".*") == (frozenset({"orders-a"}), 0)
    world.leave("m2")
    assert matches.topics("orders-.*") == (frozenset({"orders-a"}), 0)
    assert matches.topics(".*") == (frozenset({"orders-a"}), 1)
    world.leave("m1")
    assert world.log.shard.consumer.activity(GROUP).matches is not matches


def test_without_google_re2_no_pattern_is_taken_and_those_of_a_log_match_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    patterns._warn_once.cache_clear()
    with pytest.raises(PatternsUnavailable, match=r"google-re2 is not installed \(pip install 'shareq\[re2\]'\)"):
        patterns.compiled("a.*")
    with caplog.at_level(logging.WARNING):
        assert patterns.matching("a.*", ("a", "b")) == frozenset()
        assert patterns.matching("b", ("a", "b")) == frozenset()
    (line,) = caplog.messages
    assert line.startswith(
        "groups that subscribe by pattern get no partitions: this broker takes no patterns: google-re2"
    )
    patterns._warn_once.cache_clear()
