"""The partition count of a coordinator's topic, determined from its records if metadata does not know it any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Fs
from shareq.broker.log.segments.segment import LOG_SUFFIX
from shareq.broker.maintenance.verify.internal_records import SERDES
from shareq.broker.metadata.store import NewTopic
from shareq.broker.topics.internal import new_internal_topic
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.shard import InconsistentRecords
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import MalformedMessage
from shareq.protocol.generated.share_snapshot import ShareSnapshotKey
from shareq.protocol.generated.share_update import ShareUpdateKey
from shareq.protocol.generated.transaction_log import TransactionLogKey
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import batch_headers, decode_records

MOST_PARTITIONS: Final = 1000  # that are tried; a topic with more has records in the higher ones


def coordinator_topic(fs: Fs, data_dir: str, topic: str, partitions: Sequence[int]) -> NewTopic:
    """Return the topic as a broker with default properties creates it, with the number of partitions that it had.

    `partitions` are those with a folder; there may have been others, without records. The number must be one with
    which each record is in the partition where its coordinator looks for it: the default if that is so, else the
    smallest.
    """
    config = BrokerConfig.load()
    new = new_internal_topic(config, topic)
    assert isinstance(new, NewTopic)
    return new._replace(partitions=_partition_count(fs, data_dir, topic, partitions, new.partitions))


def _partition_count(fs: Fs, data_dir: str, topic: str, partitions: Sequence[int], default: int) -> int:
    least = max(partitions, default=0) + 1
    homes = {(name, each) for each in partitions for name in _owners(fs, f"{data_dir}/{topic}-{each}", topic)}
    if not homes:
        return max(least, default)
    candidates = [default] * (default >= least) + [*range(least, max(least, MOST_PARTITIONS) + 1)]
    fitting = (count for count in candidates if all(group_partition_for(name, count) == at for name, at in homes))
    return next(fitting, max(least, default))


def _owners(fs: Fs, folder: str, topic: str) -> set[str]:
    """Return the names (of groups or the like) that assign the records in a partition's folder to it."""
    owners: set[str] = set()
    for name in fs.list_dir(folder):
        if name.endswith(LOG_SUFFIX):
            owners.update(map(_owner, _keys(fs.read_bytes(f"{folder}/{name}"), topic)))
    return owners - {""}


def _keys(data: bytes, topic: str) -> list[Message]:
    """Return the keys of the records that can be read."""
    serde = SERDES[topic]
    keys: list[Message] = []
    try:
        for position, header in batch_headers(data):
            if header.is_control:
                continue
            for record in decode_records(data[position : position + header.size]):
                found = serde.decode(record.key, record.value) if record.key is not None else None
                if found is not None:
                    keys.append(found.key)
    except (MalformedMessage, InconsistentRecords, ValueError):
        pass  # the check has reported what is left of it
    return keys


def _owner(key: Message) -> str:
    match key:
        case ShareSnapshotKey() | ShareUpdateKey():
            return SharePartitionKey(key.group_id, key.topic_id, key.partition).text()
        case TransactionLogKey():
            return key.transactional_id
    group = getattr(key, "group", None) or getattr(key, "group_id", None)
    return group if isinstance(group, str) else ""
