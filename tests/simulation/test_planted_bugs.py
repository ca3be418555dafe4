"""The simulation must be able to fail: each planted fault is noticed within a few fixed seeds, for the right reason."""

from __future__ import annotations

from itertools import chain, count, islice
from typing import Final

import pytest

from tests.simulation import (
    planted,
    planted_coordinators,
    planted_deletions,
    planted_groups,
    planted_jobs,
    planted_logs,
    regressed_faults,
)
from tests.simulation.planted import Fault
from tests.simulation.runner import run_seed
from tests.simulation.world import is_about_jobs

SEEDS: Final = 300  # of those that are about such things; most are caught by one of the first five
SHARE_FAULTS: Final = {
    **planted.FAULTS,
    **planted_coordinators.FAULTS,
    **planted_groups.FAULTS,
    **planted_logs.FAULTS,
    **regressed_faults.FAULTS,
}
JOB_FAULTS: Final = {**planted_jobs.FAULTS, **planted_deletions.FAULTS}
FAULTS: Final = {**SHARE_FAULTS, **JOB_FAULTS}

# Seeds to try first, of the faults that take longer to meet. What a seed lives through changes with the broker: where
# one has come to miss its fault, all of the others are tried.
KNOWN: Final = {
    "failed_write_not_rolled_back": 82,
    "refused_request_half_applied": 20,
    "session_end_releases_everybody": 23,
    "repeated_batch_appended_again": 61,
    "growth_goes_unnoticed": 345,
    "previous_epoch_is_fenced": 46,
    "group_takes_too_many_members": 10,
    "initialized_before_it_is_durable": 12,
    "folder_of_a_deleted_topic_is_taken_over": 19,
    "only_the_first_partition_is_altered": 35,
    "alteration_is_answered_before_it_is_durable": 35,
    "deleted_offsets_count_as_initialized": 7,
    "owner_not_checked": 25,
    "lag_is_one_too_small": 16,
    "changed_settings_are_not_looked_up": 55,
    "last_value_per_key_of_share_states": 12,
    "tombstone_goes_before_what_it_deletes": 45,
    "interrupted_swap_is_not_finished": 30,
    "what_is_archived_in_memory_alone_is_passed": 25,
    "emptied_segment_stays_in_the_log": 203,
    "start_does_not_finish_deletions": 12,
    "unrecorded_state_is_wiped_at_a_later_epoch": 4045,
    "open_transactions_are_forgotten_by_a_start": 27,
    "pending_offsets_outlive_their_topic": 174,
    "a_start_does_not_finish_deletions_of_offsets": 214,
    "offsets_of_transactions_lack_their_topics_ids": 214,
    "offsets_are_committed_in_topics_that_went_meanwhile": 349,
    "readers_of_a_deleted_topic_go_on_waiting": 259,
    "offsets_that_are_pending_are_not_deleted": 134,
    "aborted_transactions_that_begin_below_the_start_are_forgotten": 384,
    "offsets_of_classic_groups_expire_from_their_commit_on": 769,
    "markers_are_written_before_the_decision_is_durable": 1424,
    "complete_although_a_marker_is_missing": 119,
    "a_start_forgets_prepared_transactions": 84,
    "ends_of_transactions_wake_nobody": 339,
    "the_epoch_is_not_checked_on_ending": 74,
    "the_generation_is_not_checked_on_committing": 394,
    "the_member_epoch_is_not_checked_on_committing": 279,
    "offsets_of_transactions_have_topics_without_ids": 114,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_fault_is_caught(fault: Fault) -> None:
    known = [KNOWN[fault.__name__]] if fault.__name__ in KNOWN else []
    seeds = islice((seed for seed in count() if is_about_jobs(seed) is (fault in JOB_FAULTS)), SEEDS)
    with fault():
        failures = (run_seed(seed) for seed in chain(known, seeds))
        caught = next((outcome for outcome in failures if outcome.failure), None)
    assert caught is not None, f"{SEEDS} seeds and nobody noticed"
    assert any(words in caught.failure for words in FAULTS[fault]), caught.reported()


def test_faults_are_gone_afterwards() -> None:
    for fault in FAULTS:
        with fault():
            pass
    assert run_seed(0).failure == ""


def test_every_seed_to_try_first_is_of_a_fault() -> None:
    assert KNOWN.keys() <= {fault.__name__ for fault in FAULTS}
