"""Acknowledgements of a share group in a transaction (KIP-1289's draft), at a broker of ours that has the feature
`shareq.share.transactions`: with the commit the records are acknowledged, after an abort they are delivered again.
"""

from __future__ import annotations

from collections.abc import Iterable

from shareq.client.admin.calls import refused
from shareq.client.errors import BrokerError
from shareq.client.network import Network
from shareq.client.produce.delivery import TransactionId
from shareq.client.share.member import ShareGroupMetadata
from shareq.client.share.session import AckRange
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.txn_share_acknowledge import (
    AcknowledgementBatch,
    TxnShareAcknowledgePartition,
    TxnShareAcknowledgeRequest,
    TxnShareAcknowledgeResponse,
    TxnShareAcknowledgeTopic,
)
from shareq.protocol.primitives import Message
from shareq.protocol.share import AcknowledgeType


def send_share_acknowledgements_to_transaction(
    network: Network,
    transaction: TransactionId,
    member: ShareGroupMetadata,
    ranges: Iterable[AckRange],
    kind: AcknowledgeType = AcknowledgeType.ACCEPT,
) -> None:
    """Acknowledge records that the member has acquired, at the end of the transaction. They need no lock until then.

    Nothing is sent twice. After any error, abort the transaction. Raises UnsupportedApi without the feature;
    BrokerError, with INVALID_RECORD_STATE for records that the member does not hold any more, or STALE_MEMBER_EPOCH and
    UNKNOWN_MEMBER_ID for a member that the group does not know so.
    """
    by_leader: dict[int, dict[tuple[bytes, int], list[AcknowledgementBatch]]] = {}
    for one in sorted(ranges):
        place = (one.topic_id, one.partition)
        node = network.leader(*place)
        if node is None:
            raise BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"partition {one.topic_id.hex()}-{one.partition}")
        batch = AcknowledgementBatch(one.first, one.last, [int(kind)])
        by_leader.setdefault(node, {}).setdefault(place, []).append(batch)
    for node, batches in by_leader.items():
        topics: dict[bytes, TxnShareAcknowledgeTopic] = {}
        for (topic_id, partition), of_partition in batches.items():
            topic = topics.setdefault(topic_id, TxnShareAcknowledgeTopic(topic_id, []))
            topic.partitions.append(TxnShareAcknowledgePartition(partition, of_partition))
        request = TxnShareAcknowledgeRequest(
            transactional_id=transaction.name,
            group_id=member.group_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            topics=list(topics.values()),
        )
        _check_staged(network.submit(node, request).result(), member.group_id)


def _check_staged(answer: Message, group_id: str) -> None:
    """Raise BrokerError for the first error in an answer to TxnShareAcknowledge."""
    assert isinstance(answer, TxnShareAcknowledgeResponse)
    if error := refused(answer.error_code, f"share group {group_id}", answer.error_message):
        raise error
    for topic in answer.topics:
        for row in topic.partitions:
            if error := refused(row.error_code, f"partition {topic.topic_id.hex()}-{row.partition_index}"):
                raise error
