"""A share group with a breaker, over frames: too many dead letters in a period pause it until it is resumed."""

from __future__ import annotations

import logging

import pytest

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from tests.support.clients.share_client import ACCEPT, REJECT, RELEASE, ShareClient
from tests.support.worlds.dead_letters import DeadLetterWorld
from tests.support.worlds.metrics import scraped

WINDOW_MS = 10_000


def with_breaker(letters: int = 3) -> DeadLetterWorld:
    synced = {"log.flush.interval.messages": "1"}
    return DeadLetterWorld(
        properties=synced, shareq_breaker_letters=str(letters), shareq_breaker_window_ms=str(WINDOW_MS)
    )


def is_paused(dead: DeadLetterWorld) -> bool:
    return bool(dead.world.services.configs.share_group("g").paused)


def kill(dead: DeadLetterWorld, number: int) -> None:
    dead.produce(*(b"%d" % each for each in range(number)))
    ((first, last, _),) = dead.take()
    dead.end(REJECT, first, last)


def resume(dead: DeadLetterWorld) -> None:
    dead.configure("group", "g", shareq_paused="false")
    dead.settle()


def again(dead: DeadLetterWorld) -> None:
    """Let a member join the restarted broker, which loads the letters that the group owes."""
    dead.member = ShareClient(dead.world)
    assert dead.take() == []
    dead.settle()


def paused_by(dead: DeadLetterWorld) -> tuple[str, float]:
    """Return who has paused the group, as its properties and the alert's metric report."""
    by_breaker = scraped(dead.world).value("shareq_share_group_paused_by_breaker", group="g")
    return dead.world.services.configs.share_group("g").paused_by, by_breaker


def pauses(dead: DeadLetterWorld) -> int:
    return dead.world.services.share.partitions.counters.breakers.get("g", 0)


def test_too_many_letters_pause_the_group_and_a_line_says_how_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    dead = with_breaker(3)
    kill(dead, 2)
    assert not is_paused(dead)
    with caplog.at_level(logging.WARNING):
        kill(dead, 1)
    assert is_paused(dead)
    assert [record.getMessage() for record in caplog.records if "breaker" in record.getMessage()] == [
        "share group g: paused by its breaker, 3 dead letters within 10000 ms; `shareq share resume g` goes on"
    ]
    assert pauses(dead) == 1
    assert dead.offsets() == [0, 1, 2]
    dead.produce(b"healthy")
    assert dead.take() == []
    resume(dead)
    assert dead.take() == [(3, 3, 1)]


def test_records_that_are_given_up_count_like_rejected_ones() -> None:
    dead = with_breaker(2)
    dead.produce(b"a", b"b")
    for _ in range(2):  # the limit
        assert [each[:2] for each in dead.take()] == [(0, 1)]
        dead.end(RELEASE, 0, 1)
    assert is_paused(dead)


def test_accepted_records_and_single_failures_are_no_letters() -> None:
    dead = with_breaker(1)
    dead.produce(b"a", b"b")
    dead.take()
    dead.end(RELEASE, 0, 0)
    dead.end(ACCEPT, 1, 1)
    assert not is_paused(dead)


def test_letters_of_a_longer_time_pause_nothing() -> None:
    dead = with_breaker(3)
    for _ in range(6):
        kill(dead, 1)
        dead.settle(WINDOW_MS // 2 + WINDOW_MS // 50)
    assert not is_paused(dead)
    assert len(dead.letters()) == 6


def test_a_group_that_was_resumed_begins_at_no_letters() -> None:
    dead = with_breaker(3)
    kill(dead, 3)
    resume(dead)
    kill(dead, 2)
    assert not is_paused(dead)
    kill(dead, 1)
    assert is_paused(dead)
    assert pauses(dead) == 2


def test_so_does_one_that_an_operator_has_paused() -> None:
    dead = with_breaker(3)
    kill(dead, 2)
    dead.configure("group", "g", shareq_paused="true")
    resume(dead)
    kill(dead, 2)
    assert not is_paused(dead)


def test_what_becomes_letters_during_the_pause_does_not_count() -> None:
    dead = with_breaker(3)
    dead.produce(*(b"%d" % each for each in range(6)))
    dead.take()
    dead.end(REJECT, 0, 2)
    assert is_paused(dead)
    dead.end(REJECT, 3, 5)
    assert len(dead.letters()) == 6
    resume(dead)
    kill(dead, 2)
    assert not is_paused(dead)


def test_letters_of_all_partitions_count_together() -> None:
    dead = DeadLetterWorld(partitions=2, shareq_breaker_letters="2")
    for partition in (0, 1):
        dead.produce(b"x", partition=partition)
        assert dead.take(partition=partition) == [(0, 0, 1)]
        dead.end(REJECT, 0, 0, partition=partition)
    assert is_paused(dead)


def test_without_a_breaker_no_number_of_letters_pauses() -> None:
    dead = DeadLetterWorld()
    kill(dead, 100)
    assert not is_paused(dead)
    assert dead.world.services.share.partitions._breakers is None


def test_a_pause_that_cannot_be_stored_is_tried_again_with_the_next_letter(caplog: pytest.LogCaptureFixture) -> None:
    dead = with_breaker(2)

    def fail(_changes: object) -> None:
        dead.world.db.before_commit = None
        raise OSError("no space left on device")

    kill(dead, 1)
    dead.world.db.before_commit = fail
    kill(dead, 1)
    assert not is_paused(dead)
    assert "not paused after 2 dead letters, its next one tries again" in caplog.text
    kill(dead, 1)
    assert is_paused(dead)
    assert pauses(dead) == 1


@pytest.mark.parametrize("durable", [False, True], ids=["before the pause is durable", "after it"])
@pytest.mark.parametrize("model", [CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS])
def test_a_broker_that_dies_while_it_pauses_has_paused_or_begins_at_no_letters(
    model: CrashModel, durable: bool
) -> None:
    dead = with_breaker(3)
    kill(dead, 2)

    def die(_changes: object) -> None:
        raise SimulatedCrash

    if durable:
        dead.world.db.after_commit = die
    else:
        dead.world.db.before_commit = die
    with pytest.raises(SimulatedCrash):
        kill(dead, 1)
    dead.world.db.before_commit = dead.world.db.after_commit = None
    dead.world.crash(model)
    assert is_paused(dead) is durable
    again(dead)
    assert sorted(dead.offsets()) == [0, 1, 2]
    if durable:
        resume(dead)
    kill(dead, 2)
    assert not is_paused(dead)
    kill(dead, 1)
    assert paused_by(dead) == ("breaker", 1)
    assert sorted(dead.offsets()) == [0, 1, 2, 3, 4, 5]


def test_who_paused_a_group_is_known_after_a_crash() -> None:
    dead = with_breaker(2)
    kill(dead, 1)
    assert paused_by(dead) == ("false", 0)
    kill(dead, 1)
    dead.world.crash(CrashModel.PROCESS_KILL)
    again(dead)
    assert paused_by(dead) == ("breaker", 1)
    dead.configure("group", "g", shareq_paused="true")
    assert paused_by(dead) == ("true", 0)


def test_a_paused_group_stays_paused_through_a_crash() -> None:
    dead = with_breaker(1)
    kill(dead, 1)
    assert is_paused(dead)
    dead.world.crash(CrashModel.PROCESS_KILL)
    assert is_paused(dead)
    dead.member = ShareClient(dead.world)
    dead.produce(b"healthy")
    assert dead.take() == []
    resume(dead)
    assert dead.take() == [(1, 1, 1)]
