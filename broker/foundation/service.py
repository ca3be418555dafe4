"""A part of the broker that is created on first use, and is notified of events from then on."""

from __future__ import annotations

from collections.abc import Sequence

from shareq.coordinator.ports import TopicImage


class Service:
    """A listener of the broker's events. A part overrides the methods of events that concern it; repeating a call
    has no effect.

    All methods are called on the loop's thread, after the metadata has changed. Topics of one commit come in one
    call, so that a part has to search its data only once.
    """

    __slots__ = ()

    def recover(self) -> None:
        """Load the part's log during a start, before anything else, and finish work that a crash interrupted."""

    def topics_changed(self, topics: Sequence[TopicImage]) -> None:
        """Note that topics are new, or have more partitions."""

    def topics_go(self, topics: Sequence[TopicImage]) -> None:
        """Read the data of topics that are about to be deleted, before `topics_deleted` is called for any part."""

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Note that topics have been deleted from the metadata, together with their logs."""

    def leader_moved(self, topic: str, partition: int) -> None:
        """Note that another broker leads the partition from now on, or that this one leads it again."""

    def share_groups_disabled(self) -> None:
        """Note that share groups were switched off."""

    def stop_waiting(self) -> None:
        """Answer all parked requests, because the broker is about to stop."""

    def close(self) -> None:
        """Stop all timers; write nothing afterwards."""
