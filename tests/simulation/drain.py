"""The end of a seed: no more faults; every due record is delivered and accepted for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devtools.in_memory.mem_fs import SimulatedCrash
from shareq.broker.disk.watch import INTERVAL_MS
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.simulation.convergence import check_stable
from tests.simulation.group import LOCKS_MS
from tests.simulation.ledger import InvariantBroken
from tests.simulation.member import Member
from tests.simulation.topics import SECOND, TOPIC

IDLE: Final = 4  # times that nothing comes, until nothing will
IDLE_WITH_DAMAGE: Final = 30  # what cannot be read is tried as often as the delivery limit allows, range by range

if TYPE_CHECKING:
    from tests.simulation.group import Group
    from tests.simulation.world import World


def drain(world: World) -> None:
    world.note("drain")
    world.faults.clear()
    _begin(world)
    _await_room(world)
    world.breakers.end()
    world.pauses.end()
    for producer in world.producers:
        producer.finish()
    world.settle()
    for transactional in world.transactional:
        transactional.finish()
    world.settle()
    world.jobs.finish()
    world.queues.finish()
    world.redrives.finish()
    for group in world.groups:
        _drain_group(world, group)
    world.audit()
    world.queues.check()
    world.redrives.check()
    starts = {slot.index: world.log(slot).log_start_offset for slot in world.topics.live}
    for group in world.groups:
        group.ledger.check_all_finished(starts)
        world.seen["waits that were kept"] += group.ledger.waits.checked
        world.seen.update(group.ledger.seen)
    unanswered: list[object] = [batch for producer in world.producers for batch in producer.unanswered.values()]
    unanswered += [slot for transactional in world.transactional for slot in transactional.unfinished]
    if unanswered:
        raise InvariantBroken(f"never answered: {unanswered}")
    if world.rng.random() < 0.3:
        for group in world.groups:
            _delete_group(world, group)
        world.restart()


def _begin(world: World) -> None:
    how = world.rng.random()
    try:
        if how < 0.4:
            world.crash("before the drain")
        elif how < 0.7 or any(log.refusal is not ErrorCode.NONE for log in world.folder.logs.logs()):
            world.restart()
    except SimulatedCrash:
        world.crash("before the drain")
    world.faults.clear()


def _await_room(world: World) -> None:
    """Wait until the broker has seen that the disk is no longer full."""
    while world.folder.disk.refuses_clients():
        world.advance(INTERVAL_MS)


def _drain_group(world: World, group: Group) -> None:
    last = Member(world, group, f"{group.id}-last")
    last.heartbeats.names = (SECOND, TOPIC)
    if len(group.members) >= world.services.started_with.group_share_max_size:
        for member in group.members:
            member.heartbeats.leave()
        world.settle()
    last.drain_once()  # before the others go, so that the group's share partitions stay in memory
    for member in group.members:
        member.disconnect()
    group.members = [last]
    idle, live = 0, {slot.index for slot in world.topics.live}
    patience = IDLE_WITH_DAMAGE if world.topics.records.hit else IDLE + world.dates.longest_ms() // LOCKS_MS[-1]
    for _ in range(300):
        found = last.drain_once()
        world.advance(1 if found else LOCKS_MS[-1] + 1)
        world.settle()
        world.look_inside()
        idle = 0 if found or last.heartbeats.assigned != live else idle + 1  # until the others have expired
        if idle == patience:
            break
    else:
        reported = sorted(last.heartbeats.assigned)
        raise InvariantBroken(f"the group never becomes idle; its last member is assigned {reported} of {sorted(live)}")
    check_stable(world, group, {last.id: last.heartbeats})


def _delete_group(world: World, group: Group) -> None:
    for member in group.members:
        member.heartbeats.leave()
    world.settle()
    pending = world.call("delete_groups", DeleteGroupsRequest([group.id]), 2, world.connect())
    world.settle()
    response = pending.value
    assert isinstance(response, DeleteGroupsResponse)
    if response.results[0].error_code != ErrorCode.NONE:
        raise InvariantBroken(f"{group.id} cannot be deleted: {ErrorCode(response.results[0].error_code).name}")
    world.seen["groups deleted"] += 1
    group.deleted()
    world.audit()
