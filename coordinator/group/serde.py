"""The encoding and decoding of records of `__consumer_offsets`, for every kind of group.

type    of
0, 1    committed offsets: `shareq.coordinator.group.offsets.records`
2       classic groups: `shareq.coordinator.group.classic.records`
3-8, 16 consumer groups: `shareq.coordinator.group.consumer.records`
10-15   share groups: `shareq.coordinator.group.share.records`
"""

from __future__ import annotations

from typing import Final

from shareq.coordinator.group.classic.records import CLASSIC_GROUP_RECORD_TYPES
from shareq.coordinator.group.consumer.records import CONSUMER_GROUP_RECORDS
from shareq.coordinator.group.offsets.records import OFFSET_RECORD_TYPES
from shareq.coordinator.group.sense import check_group_record
from shareq.coordinator.group.share.records import SHARE_GROUP_RECORDS
from shareq.coordinator.record_serde import TypedRecordSerde

GROUP_SERDE: Final = TypedRecordSerde(
    {
        **OFFSET_RECORD_TYPES,
        **CLASSIC_GROUP_RECORD_TYPES,
        **CONSUMER_GROUP_RECORDS.types,
        **SHARE_GROUP_RECORDS.types,
    },
    check_group_record,
)
"""The serde of all these types. Records of other types are skipped, with a warning."""
