"""Seeds known to notice planted faults; `python -m tests.simulation.nodes.noticing` finds others."""

from __future__ import annotations

from typing import Final

from tests.simulation.nodes import planted
from tests.support.planting import Fault

KNOWN_SEEDS: Final[dict[Fault, tuple[int, ...]]] = {
    planted.a_log_that_is_not_known_so_far_was_cut: (0, 2),
    planted.states_of_unknown_topics_are_deleted: (1, 2, 5),
    planted.a_topic_that_one_broker_does_not_know_is_gone: (0, 6, 35),
    planted.whatever_anybody_writes_counts: (30, 47, 48),
    planted.take_over_records_share_one_key: (0, 2, 3),
    planted.an_unexpected_offset_is_answered: (11, 13, 23),
    planted.what_nobody_answered_counts: (0, 1, 2),
    planted.an_append_is_answered_before_it_is_there: (1, 0, 2),
    planted.one_replica_is_enough: (2, 3, 10),
    planted.a_load_ends_before_the_log_does: (0, 1, 2),
    planted.what_is_needed_is_pruned: (1, 2, 3),
    planted.a_zombie_takes_back_at_once: (0, 3),
    planted.nothing_is_given_up: (2, 22, 47),
    planted.a_lost_slot_is_not_noticed: (7,),
    planted.share_partitions_outlive_their_slot: (2, 3, 13),
    planted.share_partitions_are_not_dropped: (2, 3, 13),
    planted.records_are_handed_out_without_a_lease: (2,),
    planted.a_proof_is_as_old_as_its_answer: (14,),
    planted.leases_stand_still_while_a_machine_sleeps: (2, 11),
    planted.groups_forget_partitions_of_unknown_topics: (2, 3),
}
