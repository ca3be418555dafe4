"""Members that behave like real clients, through crashes, restarts, broken connections and disk errors.

While the broker lives every request is answered, and after the faults the group settles with all members.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.join_group import JoinGroupResponse
from shareq.protocol.generated.sync_group import SyncGroupResponse
from tests.support.clients.classic_client import ClassicClient, describe

MEMBERS: Final = 5
STEPS: Final = 600
LONGEST_WAIT_MS: Final = 300_000 + 60_000
"""The longest wait for an answer: that of a new member's JoinGroup, and a rebalance."""

START_AGAIN: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)


class Runner:
    """One client's life: join, sync, heartbeats; it starts over when an answer demands it."""

    def __init__(self, world: BrokerWorld, number: int) -> None:
        self.world = world
        self.client = ClassicClient(world, instance=f"i{number}" if number < 2 else None)
        self.asked: str | None = None
        self.since_ms = 0
        self.others: tuple[str, ...] = ()
        self.synced = False

    def step(self) -> None:
        if self.asked is not None:
            if not self.client.connection.frames:
                waited = self.world.clock.now_ms() - self.since_ms
                assert waited <= LONGEST_WAIT_MS, f"{self.asked} waits for {waited} ms"
                return
            self.receive(self.asked)
        if self.client.generation < 0:
            self.send("join")
        elif not self.synced:
            self.send("sync")
        else:
            self.send("heartbeat")

    def send(self, what: str) -> None:
        client = self.client
        if what == "join":
            self.synced = False
            client.send_join(session_ms=10_000, rebalance_ms=30_000)
        elif what == "sync":
            leads = client.leader == client.member_id
            client.send_sync({each: each.encode() for each in self.others} if leads else None)
        else:
            request = HeartbeatRequest(client.group, client.generation, client.member_id, client.instance)
            client.connection.send(request, 4)
        self.asked, self.since_ms = what, self.world.clock.now_ms()
        self.world.clock.run_until_idle()

    def receive(self, what: str) -> None:
        client, self.asked = self.client, None
        if what == "join":
            joined: JoinGroupResponse = client.joined()
            error = ErrorCode(joined.error_code)
            self.others = tuple(member.member_id for member in joined.members)
        elif what == "sync":
            synced: SyncGroupResponse = client.synced()
            error = ErrorCode(synced.error_code)
            self.synced = error is ErrorCode.NONE
        else:
            error = ErrorCode(client.connection.receive(HeartbeatResponse).error_code)
        if error is ErrorCode.NONE or error is ErrorCode.MEMBER_ID_REQUIRED:
            return
        if error in START_AGAIN:
            client.member_id = ""
        client.generation = -1

    def reconnect(self) -> None:
        self.client.reconnect()
        self.asked = None


def failing(times: int) -> Callable[[str, str], OSError | None]:
    """Return a fault that fails this many next writes to the groups' log."""
    left = times

    def fail(kind: str, path: str) -> OSError | None:
        nonlocal left
        if not left or kind != "write" or not path.endswith(".log") or "__consumer_offsets" not in path:
            return None
        left -= 1
        return OSError(errno.EIO, "broken", path)

    return fail


class Trouble:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.world = BrokerWorld({"offsets.topic.num.partitions": "1", "log.flush.interval.messages": "1"}, seed=seed)
        self.runners = [Runner(self.world, number) for number in range(MEMBERS)]
        self.neighbours = 0

    def step(self) -> None:
        what = self.rng.random()
        if what < 0.82:
            self.rng.choice(self.runners).step()
        elif what < 0.85:  # something to write, whatever the group is waiting for
            self.neighbours += 1
            ClassicClient(self.world, f"neighbour-{self.neighbours}").send_join()
        elif what < 0.95:
            self.world.clock.advance(self.rng.choice((1, 500, 3_000, 11_000)))
        elif what < 0.97:
            self.world.fs.fail = failing(self.rng.choice((1, 1, 2, 5)))
        elif what < 0.99:
            runner = self.rng.choice(self.runners)
            runner.client.connection.disconnect()
            runner.reconnect()
        else:
            self.world.fs.fail = None
            self.rng.choice((self.world.crash, self.world.restart))()
            self.world.services.env.rng.seed(self.rng.random())  # else it gives the same member ids again
            for runner in self.runners:
                runner.reconnect()

    def settle(self) -> None:
        self.world.fs.fail = None
        for _ in range(600):
            for runner in self.runners:
                runner.step()
            self.world.clock.advance(1_000)
            if self.is_settled():
                return
        raise AssertionError(f"the group does not settle: {describe(self.world)}")

    def is_settled(self) -> bool:
        group = describe(self.world)
        if group.group_state != "Stable" or not all(runner.synced for runner in self.runners):
            return False
        for member in group.members:  # one that came back has what its old id was given
            assert member.group_instance_id or member.member_assignment == member.member_id.encode()
        return {each.member_id for each in group.members} == {runner.client.member_id for runner in self.runners}


@pytest.mark.parametrize("seed", range(25))
def test_a_group_outlives_trouble(seed: int) -> None:
    trouble = Trouble(seed)
    for _ in range(STEPS):
        trouble.step()
    trouble.settle()
    assert len({runner.client.generation for runner in trouble.runners}) == 1
    (partition,) = trouble.world.services.groups.coordinator.partitions
    assert partition.waiting == 0
    trouble.world.broker.stop_waiting()
    for runner in trouble.runners:
        assert runner.asked is None or runner.client.connection.frames or not runner.client.waits
