"""The list of all scripts, each with its setting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.support.cluster_scripts import (
    administration,
    batches,
    cluster,
    fetches,
    groups,
    offsets,
    producers,
    transactions,
)
from tests.support.cluster_scripts.conversation import Conversation, Setting


class Script(NamedTuple):
    play: Callable[[Conversation], None]
    setting: Setting = Setting.PLAIN

    @property
    def name(self) -> str:
        return self.play.__name__.replace("_", "-")


SCRIPTS: Final = (
    Script(producers.without_producer_id),
    Script(producers.repeated_batches),
    Script(producers.an_owner_is_fenced),
    Script(producers.only_the_epoch_protects),
    Script(producers.a_fence_outlives_its_records),
    Script(producers.a_new_epoch_begins_with_zero),
    Script(producers.sequences_wrap),
    Script(producers.producer_ids),
    Script(producers.epochs_of_an_id),
    Script(producers.an_idle_owner_is_forgotten, Setting.FORGETFUL),
    Script(producers.an_owner_whose_clock_is_slow, Setting.FORGETFUL),
    Script(producers.an_idle_id_is_forgotten, Setting.FORGETFUL),
    Script(batches.sizes),
    Script(batches.damage),
    Script(batches.keys),
    Script(batches.times),
    Script(batches.compressed),
    Script(batches.acknowledgements),
    Script(batches.too_few_replicas),
    Script(batches.addresses),
    Script(fetches.where_it_begins),
    Script(fetches.what_does_not_exist),
    Script(fetches.how_much),
    Script(fetches.how_long),
    Script(fetches.sessions),
    Script(fetches.epochs_of_sessions),
    Script(fetches.errors_in_sessions),
    Script(fetches.leader_epochs),
    Script(fetches.by_name),
    Script(transactions.committed_and_aborted),
    Script(transactions.side_by_side),
    Script(transactions.what_is_refused),
    Script(transactions.a_new_owner_aborts),
    Script(offsets.offsets_by_name),
    Script(offsets.offsets_by_time),
    Script(offsets.offsets_refused),
    Script(offsets.ends_of_epochs),
    Script(offsets.records_deleted),
    Script(cluster.topics_by_name_and_id),
    Script(cluster.topics_made_by_asking),
    Script(cluster.brokers),
    Script(cluster.coordinators),
    Script(cluster.hidden_topics, Setting.GUARDED),
    Script(cluster.denied_topics, Setting.GUARDED),
    Script(cluster.denied_ids, Setting.GUARDED),
    Script(administration.topics_made),
    Script(administration.topics_refused),
    Script(administration.topics_deleted),
    Script(administration.a_topic_made_again),
    Script(administration.properties_described),
    Script(administration.properties_changed),
    Script(groups.one_member),
    Script(groups.unchanged_members),
    Script(groups.changed_members),
    Script(groups.a_member_leaves),
    Script(groups.a_silent_member),
    Script(groups.a_member_that_does_not_join),
    Script(groups.no_assignment),
    Script(groups.the_first_members),
    Script(groups.refused_members),
    Script(groups.static_members),
)
