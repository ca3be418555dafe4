"""The rest of the broker as redrives use it."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Final

from shareq.broker.config.service import ConfigService
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import TurnBudget
from shareq.broker.groups.service import GroupService
from shareq.broker.log.append import OnDurable
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.metadata.producer_ids import ProducerIds
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.network.audit_log import AuditLog
from shareq.broker.network.audit_log import logger as audit_logger
from shareq.broker.redrive.ports import Committed
from shareq.broker.redrive.progress import PartitionProgress, State, What, progress_text
from shareq.broker.redrive.spec import Owner, RedriveSpec
from shareq.broker.security.authorizer import Authorizer
from shareq.broker.security.rights import Right
from shareq.broker.topics.creation import TopicSpec, create_topic
from shareq.broker.topics.leaders import Leaders
from shareq.broker.topics.lookup import led_log
from shareq.broker.topics.own_batches import append_in_turns
from shareq.protocol.errors import ApiError, ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup

_COMMIT_VERSION: Final = 9  # topics by name
_FETCH_VERSION: Final = 9
_FOR_EVER: Final = 2**62
_BROKERS_RETENTION: Final = -1
_CLIENT_ID: Final = "a redrive"  # in the audit log


class BrokerRedriveWorld:
    """The `RedriveWorld` of this broker. `authorizer` and `audit` are called at every use; without an authorizer
    every client has every right.
    """

    def __init__(
        self,
        metadata: MetadataStore,
        configs: ConfigService,
        logs: LogManager,
        leaders: Leaders,
        turns: Turns,
        budget: TurnBudget,
        begin: Begin,
        groups: GroupService,
        producer_ids: ProducerIds,
        authorizer: Callable[[], Authorizer | None],
        audit: Callable[[], AuditLog],
    ) -> None:
        self._metadata = metadata
        self._configs = configs
        self._logs = logs
        self._leaders = leaders
        self._turns = turns
        self._budget = budget
        self._begin = begin
        self._groups = groups
        self._producer_ids = producer_ids
        self._authorizer = authorizer
        self._audit = audit

    def partitions(self, topic: str) -> int | None:
        image = self._metadata.topic(topic)
        return None if image is None else image.partitions

    def log(self, topic: str, partition: int) -> PartitionLog | ErrorCode:
        return led_log(self._leaders, self._logs, topic, partition)

    def append(
        self, topic: str, partition: int, batch: bytearray, now_wall_ms: int, on_durable: OnDurable
    ) -> ErrorCode:
        return append_in_turns(
            self._turns, self._budget, partial(self.log, topic, partition), batch, now_wall_ms, on_durable
        )

    def may(self, owner: Owner, right: Right, name: str) -> bool:
        authorizer = self._authorizer()
        if authorizer is None:
            return True
        allowed = authorizer.allows(owner.principal, owner.host, right.operation, right.kind, name)
        if not allowed or audit_logger.isEnabledFor(logging.DEBUG):
            self._audit().log(
                name, allowed, owner.principal, owner.host, _CLIENT_ID, right.operation.name, right.kind.name
            )
        return allowed

    def new_producer_id(self) -> Pending[int | ErrorCode]:
        return self._begin(self._new_producer_id())

    async def _new_producer_id(self) -> int | ErrorCode:
        await self._producer_ids.at_hand()
        try:
            return self._producer_ids.next()
        except OSError:
            return ErrorCode.KAFKA_STORAGE_ERROR

    def begins_at_the_start(self, group_id: str) -> bool:
        return self._configs.share_group(group_id).auto_offset_reset.strategy == "earliest"

    def create_topic(self, name: str) -> Pending[ApiError]:
        return create_topic(self._metadata, self._configs, TopicSpec(name))

    def longest_text(self) -> int:
        return self._configs.broker.offset_metadata_max_bytes

    def sign(self, text: str) -> str:
        return hmac.digest(self._secret, b"redrive\0" + text.encode(), "sha256").hex()

    @cached_property
    def _secret(self) -> bytes:
        return self._metadata.own_secret()

    async def _secret_made(self) -> None:
        """Return once `sign` needs no commit: wait until the secret may be created if it is missing."""
        if not self._metadata.has_own_secret:
            await self._metadata.gate.passed()
            _ = self._secret

    def commit(
        self, spec: RedriveSpec, state: State, progress: Sequence[PartitionProgress], why: str = ""
    ) -> Pending[ErrorCode]:
        return self._begin(self._commit(spec, state, progress, why))

    async def _commit(
        self, spec: RedriveSpec, state: State, progress: Sequence[PartitionProgress], why: str
    ) -> ErrorCode:
        await self._secret_made()
        rows = [
            OffsetCommitRequestPartition(
                each.partition, each.next_offset, committed_metadata=progress_text(spec, state, why, each, self.sign)
            )
            for each in progress
        ]
        request = OffsetCommitRequest(
            spec.group_id,
            retention_time_ms=_FOR_EVER
            if state is State.RUNNING or self._has_any(spec.queue, progress)
            else _BROKERS_RETENTION,
            topics=[OffsetCommitRequestTopic(spec.queue, partitions=rows)],
        )
        response = await self._groups.offsets.commit(request, _COMMIT_VERSION)
        errors = (ErrorCode(row.error_code) for topic in response.topics for row in topic.partitions)
        return next((error for error in errors if error), ErrorCode.NONE)

    def _has_any(self, queue: str, progress: Sequence[PartitionProgress]) -> bool:
        """Return True if the queue still has letters that may have been sent back."""
        for each in progress:
            if each.counts.get(What.REDRIVEN):
                log = self.log(queue, each.partition)
                if isinstance(log, ErrorCode) or log.log_start_offset < each.sent_upto:
                    return True
        return False

    def load(self, group_id: str) -> Pending[Sequence[Committed] | ErrorCode]:
        return self._begin(self._load(group_id))

    async def _load(self, group_id: str) -> Sequence[Committed] | ErrorCode:
        wanted = OffsetFetchRequestGroup(group_id, topics=None)
        found = await self._groups.offsets.fetch(wanted, _FETCH_VERSION, require_stable=False)
        if found.error_code:
            return ErrorCode(found.error_code)
        committed = [
            Committed(topic.name, row.partition_index, row.committed_offset, row.metadata or "")
            for topic in found.topics
            for row in topic.partitions
            if row.committed_offset >= 0
        ]
        if committed:
            await self._secret_made()
        return committed

    def group_ids(self, prefix: str) -> list[str]:
        return self._groups.offsets.group_ids(prefix)
