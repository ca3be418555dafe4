"""Share partitions, and the coordinator keys that name them.

The key text is `group ":" topic-id ":" partition`, the topic id as Kafka prints a Uuid (22 characters of URL-safe
base64), the partition in decimal. A group id may contain colons, so the text is read from the right (KIP-932,
FindCoordinator with key type SHARE).
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from shareq.protocol.errors import ErrorCode
from shareq.protocol.primitives import uuid_from_text, uuid_to_text

_KEY: Final = re.compile(r"(?P<group>.+):(?P<topic>[A-Za-z0-9_-]{22}):(?P<partition>[0-9]{1,10})", re.DOTALL)
_INT32_MAX: Final = 2**31 - 1


class SharePartitionKey(NamedTuple):
    """One share partition: a group's state on one topic partition. `topic_id` has 16 bytes.

    It is a tuple, because it is hashed on every acknowledgement.
    """

    group_id: str
    topic_id: bytes
    partition: int

    def text(self) -> str:
        """Return the coordinator key, as FindCoordinator carries it."""
        return f"{self.group_id}{self.text_after_group()}"

    def text_after_group(self) -> str:
        """Return the coordinator key without the group id, from its first colon on."""
        return f":{uuid_to_text(self.topic_id)}:{self.partition}"


def parse_key(text: str) -> SharePartitionKey | ErrorCode:
    """Return the share partition that a coordinator key names; INVALID_REQUEST if it names none."""
    match = _KEY.fullmatch(text)
    if match is None or not match["group"].strip():
        return ErrorCode.INVALID_REQUEST
    partition = int(match["partition"])
    if partition > _INT32_MAX:
        return ErrorCode.INVALID_REQUEST
    return SharePartitionKey(match["group"], uuid_from_text(match["topic"]), partition)
