from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from shareq.broker.share.loading import Loads
from shareq.broker.share.partitions import SharePartitionManager
from shareq.cluster.membership.lease import Leases
from shareq.cluster.membership.nodes import NodeMap, SlotId
from shareq.cluster.membership.ownership import Ownership
from shareq.cluster.mirror import topics as mirror
from shareq.cluster.mirror.doubts import Witness
from shareq.cluster.node.leaders import NodeLeaders
from shareq.cluster.node.slots import NodeSlots
from shareq.cluster.state import fencing, slot
from shareq.cluster.state.fencing import Counting
from shareq.cluster.state.log import SlotLog
from shareq.cluster.state.pruning import Pruning
from shareq.cluster.state.slot import Produced, Refused
from shareq.coordinator.group.share.groups import ShareGroups
from shareq.protocol.errors import ErrorCode
from tests.simulation.nodes.node import Life
from tests.support.planting import Fault, Function, in_place_of, replaced

# -- beliefs in absence


@in_place_of(Loads, "__init__")
def a_log_that_is_not_known_so_far_was_cut(original: Function, self: Loads, *others: Any, **named: Any) -> None:
    original(self, *others, **{**named, "believes_absence": True})


@in_place_of(NodeSlots, "_load")
async def states_of_unknown_topics_are_deleted(original: Function, self: NodeSlots, *others: Any) -> None:
    await original(self, *others)
    for coordinator in self._opened.coordinators.values():
        partitions = coordinator._partitions  # type: ignore[attr-defined]
        for partition in partitions:
            shard = partition.shard
            if hasattr(shard, "topics_deleted") and hasattr(shard, "share_partitions"):
                metadata = shard._metadata
                gone = {key.topic_id for key in shard.share_partitions() if metadata.topic_by_id(key.topic_id) is None}
                partition.notify(lambda shard, gone=gone: shard.topics_deleted(gone))


@in_place_of(mirror, "judged")
def a_topic_that_one_broker_does_not_know_is_gone(
    original: Function, doubt: Any, topic_id: bytes, witness: Witness, *others: Any
) -> Any:
    return True if witness.denies(topic_id) else original(doubt, topic_id, witness, *others)


# -- what counts in a slot's log


@in_place_of(Counting, "_is_owners")
def whatever_anybody_writes_counts(_original: Function, self: Counting, _producer: Any) -> bool:
    return self.owner is not None


def take_over_records_share_one_key() -> AbstractContextManager[object]:
    """Plant one key for all take-over records, so that compaction keeps only the last."""
    pack = fencing._TAKE_OVER_KEY.pack

    class Key:
        @staticmethod
        def pack(kind: int, version: int, of: int, _producer_id: int, _epoch: int) -> bytes:
            return pack(kind, version, of, 0, 0)

    return replaced((fencing, "_TAKE_OVER_KEY", Key))


@in_place_of(SlotLog, "_answered")
def an_unexpected_offset_is_answered(original: Function, self: SlotLog, append: Any, answer: Any) -> None:
    if isinstance(answer, Produced):
        answer = answer._replace(base_offset=append.base_offset)
    original(self, append, answer)


@in_place_of(SlotLog, "_answered")
def what_nobody_answered_counts(original: Function, self: SlotLog, append: Any, answer: Any) -> None:
    if isinstance(answer, Refused):
        answer = Produced(append.base_offset, -1)
    original(self, append, answer)


@in_place_of(SlotLog, "append")
def an_append_is_answered_before_it_is_there(original: Function, self: SlotLog, *others: Any, **named: Any) -> Any:
    on_durable = named.pop("on_durable", None)
    answer = original(self, *others, **named, on_durable=None)
    if on_durable is not None and not isinstance(answer, ErrorCode):
        self._env.clock.call_soon(lambda: on_durable(ErrorCode.NONE))
    return answer


def one_replica_is_enough() -> AbstractContextManager[object]:
    return replaced((slot, "ALL_REPLICAS", 1))  # type: ignore[arg-type]


@in_place_of(SlotLog, "read")
def a_load_ends_before_the_log_does(original: Function, self: SlotLog, *others: Any, upto: int, **named: Any) -> Any:
    return original(self, *others, upto=max(upto - 8, 0), **named)


@in_place_of(Pruning, "_heard")
def what_is_needed_is_pruned(original: Function, self: Pruning, needed_from: int | None) -> None:
    original(self, None if self._mark is None else self._mark + 1)


# -- who owns a slot


def a_zombie_takes_back_at_once() -> AbstractContextManager[object]:
    original = Ownership.lost

    def lost(self: Ownership, slot: SlotId) -> None:
        original(self, slot)
        if slot in self._stages:
            self._begin(slot)

    return replaced((Ownership, "lost", lost), (Ownership, "still_wanted", lambda self, slot: slot in self._stages))


@in_place_of(Ownership, "on_map")
def nothing_is_given_up(
    original: Function, self: Ownership, member_id: str, node_map: NodeMap, heard: Callable[[], None]
) -> None:
    kept = {**node_map.owners, **dict.fromkeys(self._stages, member_id)}
    original(self, member_id, NodeMap(node_map.nodes, kept), heard)


@in_place_of(NodeSlots, "_over")
def a_lost_slot_is_not_noticed(_original: Function, _self: NodeSlots, *_others: Any) -> None:
    return None


@in_place_of(NodeSlots, "_notify_of_topics")
async def share_partitions_outlive_their_slot(_original: Function, _self: NodeSlots, _slot: SlotId) -> None:
    return None


@in_place_of(SharePartitionManager, "leader_moved")
def share_partitions_are_not_dropped(_original: Function, _self: SharePartitionManager, *_others: Any) -> None:
    return None


def records_are_handed_out_without_a_lease() -> AbstractContextManager[object]:
    return replaced(
        (Leases, "may_hand_out", lambda _self, _slot: True),
        (Leases, "left_ms", property(lambda self: self.lease_ms)),
        (Leases, "forget", lambda _self, _slot: None),
    )


@in_place_of(Leases, "attempt")
def a_proof_is_as_old_as_its_answer(original: Function, self: Leases, *others: Any) -> Callable[[], None]:
    def proved() -> None:
        original(self, *others)()

    return proved


def leases_stand_still_while_a_machine_sleeps() -> AbstractContextManager[object]:
    return replaced((Life, "_lease_clock", lambda self: self.clock))


# -- several owners


@in_place_of(NodeLeaders, "owner_elsewhere")
def states_of_others_are_looked_for_here(_original: Function, _self: NodeLeaders, _topic_id: bytes) -> None:
    return None


def each_owner_begins_with_the_first_epoch() -> AbstractContextManager[object]:
    original = NodeLeaders.serves

    def serves(self: NodeLeaders, slot: SlotId, _epoch: int) -> None:
        original(self, slot, 1)

    return replaced((NodeLeaders, "serves", serves))


# -- states


@in_place_of(ShareGroups, "_partitions_of")
def groups_forget_partitions_of_unknown_topics(_original: Function, self: ShareGroups, topic_id: bytes) -> int:
    topic = self._metadata.topic_by_id(topic_id)
    return 0 if topic is None else topic.partitions


FAULTS: Final[Sequence[Fault]] = (
    a_log_that_is_not_known_so_far_was_cut,
    states_of_unknown_topics_are_deleted,
    a_topic_that_one_broker_does_not_know_is_gone,
    whatever_anybody_writes_counts,
    take_over_records_share_one_key,
    an_unexpected_offset_is_answered,
    what_nobody_answered_counts,
    an_append_is_answered_before_it_is_there,
    one_replica_is_enough,
    a_load_ends_before_the_log_does,
    what_is_needed_is_pruned,
    a_zombie_takes_back_at_once,
    nothing_is_given_up,
    a_lost_slot_is_not_noticed,
    share_partitions_outlive_their_slot,
    share_partitions_are_not_dropped,
    records_are_handed_out_without_a_lease,
    a_proof_is_as_old_as_its_answer,
    leases_stand_still_while_a_machine_sleeps,
    groups_forget_partitions_of_unknown_topics,
)

OF_SEVERAL_OWNERS: Final[Sequence[Fault]] = (
    states_of_others_are_looked_for_here,
    each_owner_begins_with_the_first_epoch,
)
"""The faults that must be noticed by runs in which all nodes own slots."""
