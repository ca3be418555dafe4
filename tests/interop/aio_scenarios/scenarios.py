"""The tests of confluent-kafka's share consumer by file, names without `test_`, and why some are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SOURCE: Final = "tests/integration/share_consumer/"

SCENARIOS: Final[Mapping[str, str]] = {
    "test_share_consumer.py": """
        concurrent_consumers basic_consume_records poll_returns_messages message_fields_preserved
        header_order_preserved timestamp_and_type_preserved zero_byte_and_null_key_value
        single_consumer_multi_partition_full_coverage max_poll_records_caps_batch
        record_larger_than_fetch_max_bytes_delivered compression_codec_roundtrip multi_topic_subscription
        records_before_join_not_delivered three_consumers_no_overlap independent_share_groups
        implicit_ack_no_redelivery records_redelivered_after_lock_timeout poll_with_zero_timeout
        unsubscribe_stops_delivery resubscribe_to_different_topic messages_in_offset_order_single_consumer
        open_transaction_stalls_share_group read_committed_skips_aborted_transaction
        read_committed_delivers_committed_transactions_with_marker_gap partition_max_record_locks_caps_in_flight
        double_close_is_idempotent subscribe_before_topic_exists resubscribe_same_topic_keeps_delivering
        dealloc_without_close_on_live_consumer max_poll_interval_exceeded_then_rejoins
        blocking_poll_longer_than_max_poll_interval_does_not_falsely_trip
        topic_deletion_under_subscription_keeps_other_topic_flowing partition_increase_during_consume
        sparse_partitions_do_not_stall poll_empty_existing_topic_returns_empty_then_delivers
        close_releases_inflight_to_group earliest_delivers_pre_subscribe_backlog
        single_consumer_self_redelivery_increments_delivery_count poll_returns_whole_batch_exceeding_max_poll_records
        two_groups_earliest_vs_latest read_uncommitted_delivers_uncommitted_records
        multi_consumer_overlapping_subscriptions topic_recreate_resumes_with_fresh_delivery
    """,
    "test_share_consumer_ack.py": """
        implicit_mode_acknowledge_raises implicit_mode_autocommits_on_next_poll explicit_accept_prevents_redelivery
        explicit_reject_prevents_redelivery explicit_release_causes_redelivery unacked_records_block_next_poll
        delivery_attempt_limit_archives_record acknowledge_offset_happy_path acknowledge_offset_invalid_coords_raise
        mixed_ack_types_in_single_batch double_ack_same_record_is_lenient ack_offset_from_prior_batch_raises
        out_of_order_acks_within_batch reack_overwrite_accept_then_release_redelivers
        reack_overwrite_accept_then_reject_archives ack_after_unsubscribe_does_not_crash
        acknowledge_rejects_non_message_argument partial_ack_still_blocks_next_poll
        acknowledge_foreign_message_rejected set_callback_rejects_non_callable set_callback_accepts_none
        set_callback_after_close_raises callback_fires_on_explicit_commit_async callback_fires_on_implicit_mode
        callback_replacement_only_new_fires callback_clear_with_none_disables callback_fires_on_commit_sync
        callback_fires_during_close callback_cardinality_multipartition callback_not_invoked_on_empty_commit
        callback_reentrancy_guard acknowledgement_commit_cb_reentrant_call_raises_state
        share_consumer_methods_rejected_from_other_thread callback_exception_propagates_from_poll
        rebind_releases_previous_callback callback_reports_invalid_record_state_on_commit_async
        callback_reports_invalid_record_state_on_commit_sync callback_reports_error_during_close
        callback_swap_between_async_commit_and_response
    """,
    "test_share_consumer_commit.py": """
        implicit_commit_sync_returns_partition_results implicit_commit_async_returns_immediately
        explicit_commit_sync_succeeds commit_with_nothing_pending_returns_empty
        repeated_commit_returns_empty_on_second_call commit_with_large_batch reject_persists_through_commit
        release_through_commit_returns_record_to_available commit_with_mixed_ack_types
        committed_releases_archive_at_delivery_limit implicit_acknowledge_raises_commit_still_works
        partial_ack_commit_then_unacked_blocks_poll explicit_commit_after_implicit_autocommit_is_noop
        explicit_commit_with_no_acks_is_noop commit_after_lock_expiry lock_steal_with_committed_ack
        commit_after_acknowledge_unknown_offset per_partition_commit_results_all_succeed
        per_partition_commit_results_with_lock_expiry commit_spans_multiple_topics
        commit_on_closed_consumer_raises async_commit_does_not_block commit_with_zero_timeout_returns_fast
        sync_commit_releases_gil commit_with_short_timeout_does_not_crash
        commit_with_infinite_timeout_returns_when_idle commit_sync_accepts_float_seconds_timeout
        commit_sync_rejects_non_numeric_timeout commit_before_close_persists_acks
        commit_before_first_poll_is_noop commit_before_subscribe_is_noop async_then_sync_commit_both_complete
        commit_after_unsubscribe_does_not_crash commit_with_explicit_mode implicit_commit_async_persists
        explicit_commit_async_accept_persists explicit_commit_async_release_redelivers
        explicit_commit_async_reject_archives commit_async_with_mixed_ack_types
        explicit_commit_async_with_no_acks_is_noop commit_async_tight_loop_stays_fast
        commit_async_return_value_is_always_none commit_async_before_subscribe_is_noop
        commit_async_inside_with_block multiple_commit_async_then_sync_drains_all
        commit_async_then_immediate_close_persists commit_async_spans_multiple_topics
        commit_async_rejects_arguments commit_handles_high_volume_across_two_consumers
        redelivery_increments_delivery_count_and_commits
    """,
    "test_share_consumer_close.py": """
        implicit_close_releases_unacked_redelivers explicit_close_partial_acks_releases_remainder
        gc_without_close_leaves_group_and_redelivers callback_reentrancy_guard_covers_all_methods
        close_after_unsubscribe_is_clean close_immediately_after_subscribe_is_clean
    """,
    "test_share_consumer_callbacks.py": """
        throttle_cb_fires_under_quota log_cb_share_facility_tags_present throttle_cb_emits_cleared_zero_event
        throttle_cb_reentrant_call_raises_state
    """,
    "test_share_consumer_deserialization.py": """
        roundtrip_value_deserialization roundtrip_key_and_value_deserialization explicit_poison_marked_not_raised
        explicit_poison_reject_not_redelivered implicit_poison_marked_not_raised implicit_poison_forward_progress
        schema_registry_roundtrip schema_registry_poison_marked
    """,
}

LEFT_OUT: Final[Mapping[str, str]] = {
    "there is no acknowledging by offset: a record is acknowledged by itself": """
        acknowledge_offset_happy_path acknowledge_offset_invalid_coords_raise commit_after_acknowledge_unknown_offset
    """,
    "there is no callback to set: an acknowledgement is awaited, or `commit` returns what failed": """
        set_callback_rejects_non_callable set_callback_accepts_none set_callback_after_close_raises
        callback_replacement_only_new_fires callback_clear_with_none_disables rebind_releases_previous_callback
        callback_swap_between_async_commit_and_response
    """,
    "`commit` takes no arguments: `asyncio.timeout` bounds it": """
        commit_sync_accepts_float_seconds_timeout commit_sync_rejects_non_numeric_timeout
        commit_async_rejects_arguments
    """,
    "the broker holds a throttled connection back; there is no event for it": """
        throttle_cb_fires_under_quota throttle_cb_emits_cleared_zero_event throttle_cb_reentrant_call_raises_state
    """,
    "about the words of librdkafka's debug log; ours goes through `logging`": "log_cb_share_facility_tags_present",
    "keys and values are bytes: there are no deserializers, nor a schema registry": """
        roundtrip_value_deserialization roundtrip_key_and_value_deserialization schema_registry_roundtrip
        schema_registry_poison_marked
    """,
}
