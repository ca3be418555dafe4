"""A part of the broker that is made when it is first needed, and the news it gets from then on."""

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
        """Load the part's log at a start, before anything else, and finish what a crash cut off."""

    def topics_changed(self, topics: Sequence[TopicImage]) -> None:
        """Take note that topics are new, or have more partitions."""

    def topics_go(self, topics: Sequence[TopicImage]) -> None:
        """Take a last look at what others forget, before `topics_deleted` is called of any part."""

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Take note that topics are gone from the metadata, and that their logs are."""

    def leader_moved(self, topic: str, partition: int) -> None:
        """Another broker leads the partition from now on, or this one does again."""

    def share_groups_disabled(self) -> None:
        """Share groups were switched off."""

    def stop_waiting(self) -> None:
        """Answer what is parked: the broker is about to stop."""

    def close(self) -> None:
        """Stop all timers; nothing is written any more."""
