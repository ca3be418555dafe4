"""A part of the broker that is made on first use, and the events it is notified of from then on."""

from __future__ import annotations

from collections.abc import Sequence

from shareq.coordinator.ports import TopicImage


class Service:
    """A listener of the broker's events. A part overrides what concerns it; every call is harmless the second time.

    Everything is called on the loop's thread, after the metadata shows the change. Topics of one commit come together:
    what is looked through for them is looked through once.
    """

    __slots__ = ()

    def recover(self) -> None:
        """Load the part's log at a start, before anything else, and finish the work that a crash interrupted."""

    def topics_changed(self, topics: Sequence[TopicImage]) -> None:
        """Take note that topics are new, or have more partitions."""

    def topics_go(self, topics: Sequence[TopicImage]) -> None:
        """Read what the other parts are about to forget, before `topics_deleted` of any part is called."""

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Note that topics have been deleted from the metadata, together with their logs."""

    def leader_moved(self, topic: str, partition: int) -> None:
        """Another broker leads the partition from now on, or this one does again."""

    def share_groups_disabled(self) -> None:
        """Share groups were switched off."""

    def stop_waiting(self) -> None:
        """Answer what is parked: the broker is about to stop."""

    def close(self) -> None:
        """Stop all timers; write nothing afterwards."""
