from __future__ import annotations

from shareq.coordinator.ports import ConsumerGroupSettings, ShareGroupSettings


class GroupSettings:
    """A `GroupSettingsSource`: `share` and `consumer` hold for all groups but those in `share_by_group`.

    `asked` are the share groups that were looked up.
    """

    def __init__(
        self,
        share: ShareGroupSettings = ShareGroupSettings(),  # noqa: B008 frozen
        consumer: ConsumerGroupSettings = ConsumerGroupSettings(),  # noqa: B008 frozen
    ) -> None:
        self.share = share
        self.consumer = consumer
        self.share_by_group: dict[str, ShareGroupSettings] = {}
        self.asked: list[str] = []

    def share_group(self, group_id: str) -> ShareGroupSettings:
        self.asked.append(group_id)
        return self.share_by_group.get(group_id, self.share)

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        return self.consumer
