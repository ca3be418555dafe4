"""A redrive that ends halfway through a round and counts the letters that are in the logs."""

from __future__ import annotations

import pytest

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.cancel_redrive import CancelRedriveRequest, CancelRedriveResponse
from tests.support.worlds.redrives import RedriveWorld, counts_of, letter

LETTERS = 10


def half_sent(world: RedriveWorld) -> None:
    """Let a round send half of its letters: writes to the second partition of the topic fail."""
    world.world.fs.fail = lambda kind, path: OSError(28, "no space") if "/t-1/" in path else None
    assert world.start() is ErrorCode.NONE
    world.world.clock.advance(100)
    assert world.describe().state == "RUNNING"
    assert (len(world.values()), len(world.values(partition=1))) == (LETTERS // 2, 0)


def two_partitions() -> RedriveWorld:
    world = RedriveWorld(2)
    world.bury(*(letter(b"%d" % number, number, partition=number % 2) for number in range(LETTERS)))
    return world


@pytest.mark.parametrize("heals", [False, True])
def test_a_cancelled_redrive_counts_what_went_back_of_a_round(heals: bool) -> None:
    world = two_partitions()
    half_sent(world)
    if heals:
        world.world.fs.fail = None
    assert world.cancel() is ErrorCode.NONE
    done = world.describe()
    assert (done.state, counts_of(done)) == ("CANCELLED", {"REDRIVEN": LETTERS // 2})
    assert [row.next_offset for row in done.partitions] == [0], "letters that did not go back lie among them"
    world.world.crash()
    world.world.clock.advance(60_000)
    assert counts_of(world.describe()) == {"REDRIVEN": LETTERS // 2}
    assert len(world.values()) + len(world.values(partition=1)) == LETTERS // 2


def test_a_round_that_a_crash_cut_off_counts_when_it_is_cancelled_then() -> None:
    world = two_partitions()
    half_sent(world)
    world.world.crash()
    world.world.fs.fail = lambda kind, path: OSError(28, "no space") if "/t-1/" in path else None
    assert world.cancel() is ErrorCode.NONE
    done = world.describe()
    sent = len(world.values()) + len(world.values(partition=1))
    assert (done.state, counts_of(done)) == ("CANCELLED", {"REDRIVEN": sent})
    assert sent >= LETTERS // 2


def test_cancelled_again_while_that_cannot_be_committed_it_counts_once() -> None:
    world = two_partitions()
    half_sent(world)
    full = ("t-1/", "_offsets-")

    def fail(kind: str, path: str) -> OSError | None:
        return OSError(28, "no space") if kind == "write" and any(name in path for name in full) else None

    world.world.fs.fail = fail
    clients = [world.world.connect(), world.world.connect()]
    for client in clients:
        client.send(CancelRedriveRequest("again"), 0)
        world.world.clock.advance(5_000)
        assert not client.frames
    world.world.fs.fail = None
    world.world.clock.advance(60_000)
    for client in clients:
        assert client.receive(CancelRedriveResponse).error_code == ErrorCode.NONE
    assert counts_of(world.describe()) == {"REDRIVEN": LETTERS // 2}
