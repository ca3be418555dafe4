"""Every service of the broker, built with what it needs and nothing else. The only place that knows all of them.

What a start can do without is made, and its modules imported, when it is first needed: at the start if there is
something to recover, else by the first group or after the start, in idle time. A fresh broker listens earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import GROUP, ConfigService
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.disk.guarded_db import GuardedMetaDb
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.fetch.sessions import FetchSessions
from shareq.broker.fetch.wait import FetchWaits
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.stall_meter import Stalls
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.log.cleaner.schedule import Cleaning
from shareq.broker.log.manager import LogManager
from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES
from shareq.broker.log.upkeep import CheckTimes
from shareq.broker.metadata.changes import MetaDb, PutAcl, ResourceName
from shareq.broker.metadata.features import TRANSACTION_VERSION
from shareq.broker.metadata.producer_ids import ProducerIds
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.request_budget import RequestBudget
from shareq.broker.quotas.clients import ClientQuotas
from shareq.broker.quotas.rate import Windows
from shareq.broker.topics.endpoint import Endpoint, advertised_endpoints
from shareq.broker.topics.internal import InternalTopics, cleaner_rule_for
from shareq.broker.topics.leaders import LeaderMap
from shareq.broker.topics.lookup import PartitionLookup

if TYPE_CHECKING:
    from shareq.broker.foundation.bounded_log import BoundedLogs
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.foundation.service import Service
    from shareq.broker.groups.ports import ShareStates
    from shareq.broker.groups.service import GroupService
    from shareq.broker.network.audit_log import AuditLog
    from shareq.broker.quotas.owned_rate import OwnedRate
    from shareq.broker.redrive.service import RedriveService
    from shareq.broker.security.authorizer import Authorizer
    from shareq.broker.security.credentials import ScramCredential
    from shareq.broker.security.invented_credentials import InventedCredentials
    from shareq.broker.share.coordinator import OwedLetters, ShareCoordinatorService
    from shareq.broker.share.dlq.queues import DeadLetterQueues
    from shareq.broker.share.persister import Persister
    from shareq.broker.share.service import ShareService
    from shareq.broker.transactions.names import ProducerNames
    from shareq.broker.transactions.service import TransactionService
    from shareq.coordinator.share.keys import SharePartitionKey
    from shareq.protocol.errors import ApiError

    class ShareStateStore(Persister, ShareStates, Protocol):
        """Keeps the state of share partitions, for their leaders and for the group coordinator."""


class Made:
    """The lazy services that exist by now. News for them make none."""

    __slots__ = ("groups", "redrives", "share", "share_states", "transactions")

    def __init__(self) -> None:
        self.redrives: RedriveService | None = None
        self.share: ShareService | None = None
        self.groups: GroupService | None = None
        self.share_states: ShareCoordinatorService | None = None
        self.transactions: TransactionService | None = None

    def __iter__(self) -> Iterator[Service]:
        """In the order in which they get news."""
        made = (self.redrives, self.share, self.groups, self.share_states, self.transactions)
        return (each for each in made if each is not None)

    def states_of(self, topic_id: bytes) -> int:
        """Return how many share partitions of a topic have a state."""
        return 0 if self.share_states is None else self.share_states.states_of(topic_id)


class _LeadersMade:
    """The leaders of share partitions, as `ShareLeaders`. There is nothing to forget before there are any."""

    def __init__(self, made: Made, share: Callable[[], ShareService]) -> None:
        self._made = made
        self._share = share

    def letters_written(self, key: SharePartitionKey) -> Pending[ApiError]:
        return self._share().last_letters.written(key)

    def state_replaced(self, keys: Iterable[SharePartitionKey]) -> None:
        if self._made.share is not None:
            self._made.share.partitions.state_replaced(keys)

    def state_deleted(self, keys: Collection[SharePartitionKey]) -> None:
        if self._made.share is not None:
            self._made.share.partitions.state_deleted(keys)


class Services:
    """The parts of one broker. Everything runs on the thread that runs `env.clock`.

    `env.fs` and `meta_db` are guarded against a full disk here. `started_with` is the configuration of the start,
    `configs.broker` what holds now. See `Broker` for the other arguments.
    """

    def __init__(
        self,
        env: Environment,
        started_with: BrokerConfig,
        meta_db: MetaDb,
        disk: DiskWatch,
        *,
        endpoints: Mapping[str, Endpoint] | None = None,
        features: Mapping[str, int] | None = None,
        release_lock: Callable[[], None] | None = None,
        states: ShareStateStore | None = None,
        cluster_id: str | None = None,
        from_format_1: bool = False,
        max_open_files: int = DEFAULT_OPEN_FILES,
    ) -> None:
        self.env = env
        self.disk = disk
        self.started_with = started_with
        self.endpoints = dict(endpoints) if endpoints is not None else advertised_endpoints(started_with, {})
        self.metadata = MetadataStore(
            GuardedMetaDb(meta_db, disk.reserve, lambda: disk.state),
            env,
            features={**started_with.requested_features, **(features or {})},
            rack=started_with.broker_rack,
            cluster_id=cluster_id,
        )
        self.configs = ConfigService(started_with, self.metadata)
        self.metadata.on_config_changed(self._warn_of_queue)
        self.authorizer = self._make_authorizer()
        self.quotas = self._make_quotas()
        self.logs = LogManager(
            env,
            started_with.data_dir,
            self.configs.log_settings,
            self.configs.flush_every_message,
            check_times=CheckTimes(
                started_with.log_retention_check_interval_ms, started_with.producer_id_expiration_check_interval_ms
            ),
            cleaning=Cleaning(self.configs.cleaner_settings, cleaner_rule_for, INTERNAL_TOPICS),
            release_lock=release_lock,
            disk=disk,
            from_format_1=from_format_1,
            max_open_files=max_open_files,
            gate=self.metadata.gate,
        )
        self.producer_ids = ProducerIds(self.metadata)
        self.fetch_sessions = FetchSessions(
            started_with.max_incremental_fetch_session_cache_slots, lambda: env.rng.randint(1, 2**31 - 1)
        )
        self.fetch_waits = FetchWaits(env.clock)
        self.leaders = LeaderMap()
        self.answer_budget = AnswerBudget(env.clock)
        self.turns = Turns(env.clock.call_soon)
        self.begin = beginner(env.budget, self.turns.run)
        self.stalls = Stalls()
        self.request_budget = RequestBudget(
            env.clock, started_with.queued_max_request_bytes, started_with.socket_request_max_bytes
        )
        self.internal_topics = InternalTopics(self.metadata, lambda: self.configs.broker)
        self.lookup = PartitionLookup(self.metadata, self.logs, self.leaders)
        self.made = Made()
        self._states = states
        self._host = CoordinatorHost(env, self.metadata, self.logs, self.leaders)

    @property
    def endpoint(self) -> Endpoint:
        """Where clients of the first listener connect."""
        return next(iter(self.endpoints.values()))

    def endpoint_for(self, listener: str) -> Endpoint:
        """Where clients of this listener connect."""
        return self.endpoints.get(listener) or self.endpoint

    @cached_property
    def audit(self) -> AuditLog:
        """Where decisions of the authorizer are logged."""
        from shareq.broker.network.audit_log import AuditLog

        return AuditLog(self.env.clock, self.started_with.shareq_audit_max_lines_per_minute)

    @cached_property
    def client_lines(self) -> BoundedLogs:
        """What is logged of clients that do what is refused, as often as they do."""
        from shareq.broker.foundation.bounded_log import BoundedLogs

        return BoundedLogs(self.env.clock)

    def _make_quotas(self) -> ClientQuotas:
        config, metadata = self.started_with, self.metadata
        quotas = ClientQuotas(
            Windows(config.quota_window_num, config.quota_window_size_seconds * 1000),
            Windows(config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000),
        )
        quotas.replace(metadata.quotas)
        metadata.on_quotas_changed(lambda: quotas.replace(metadata.quotas))
        return quotas

    def _make_authorizer(self) -> Authorizer | None:
        """Which client has which right, by the ACLs in the metadata. None where every client has all."""
        config = self.started_with
        if not config.authorizer_class_name:
            return None
        from shareq.broker.security.authorizer import Authorizer

        authorizer = Authorizer(config.super_principals, allow_if_none=config.allow_everyone_if_no_acl_found)
        authorizer.replace(self.metadata.acls)
        self.metadata.on_acls_changed(
            lambda changes: authorizer.change((change.acl, isinstance(change, PutAcl)) for change in changes)
        )
        return authorizer

    def _warn_of_queue(self, resource: ResourceName) -> None:
        """Log a group's dead-letter queue that no letter would be written to: as Apache Kafka, we take the property."""
        if resource.kind != GROUP or not self.configs.share_group(resource.name).dead_letter_queue:
            return
        from shareq.broker.share.dlq.topics import BrokerQueues, warn_of_queue

        queues = BrokerQueues(self.env, self.metadata, self.configs, self.logs, self.leaders, self.turns)
        warn_of_queue(resource.name, self.configs.share_group(resource.name).dead_letter_queue, queues)

    # -- what SCRAM asks for

    @cached_property
    def invented_credentials(self) -> InventedCredentials:
        """What SCRAM users who do not exist are asked for. Made before the first listener with SCRAM opens: its secret
        may have to be written down.
        """
        from shareq.broker.security.invented_credentials import InventedCredentials

        metadata = self.metadata
        invented = InventedCredentials(metadata.own_secret())
        invented.follow(metadata.credentials.items())
        metadata.on_credentials_changed(invented.follow)
        return invented

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential:
        """A user's credential; one that no password fits for a user who does not exist. Both take equally long."""
        from shareq.broker.security.credentials import CredentialKey

        invented = self.invented_credentials.of(mechanism, user)
        return self.metadata.credentials.get(CredentialKey(user, mechanism), invented)

    # -- made when they are first needed

    @cached_property
    def share_states(self) -> ShareCoordinatorService:
        """The share coordinator: durable state of share partitions."""
        from shareq.broker.share.coordinator import (
            ShareCoordinatorService,
            share_coordinator_settings,
            share_state_log_settings,
        )

        config = self.started_with
        self.made.share_states = made = ShareCoordinatorService(
            self._host, share_coordinator_settings(config), share_state_log_settings(config), self._write_letters
        )
        return made

    def _write_letters(self, owed: OwedLetters) -> None:
        """Have dead letters written whose states are removed with their topics."""
        names = {topic.topic_id: topic.name for topic in self.metadata.deleted_topics()}
        self.share.last_letters.write_orphaned(owed, names)

    @property
    def share_state_store(self) -> ShareStateStore:
        """Where the state of share partitions is kept."""
        return self._states or self.share_states

    @cached_property
    def share(self) -> ShareService:
        """The share partitions this broker leads, and the sessions of their consumers."""
        from shareq.broker.share.service import ShareService

        self.made.share = made = ShareService(
            env=self.env,
            sources=self.logs,
            settings=self.configs,
            other_leaders=self.leaders,
            persister=self.share_state_store,
            metadata=self.metadata,
            answer_budget=self.answer_budget,
            max_sessions=self.started_with.group_share_max_share_sessions,
            make_queues=self._make_dead_letter_queues,
        )
        self.logs.add_listener(made.partitions.on_high_watermark)
        self.configs.on_change(made.config_changed)
        return made

    def _make_dead_letter_queues(self) -> DeadLetterQueues | None:
        """What writes dead letters of share groups; None: `group.share.dlq.manager.class.name` wants none."""
        from shareq.broker.config.keys.share import DEAD_LETTERS
        from shareq.broker.share.dlq.queues import DeadLetterQueues
        from shareq.broker.share.dlq.topics import BrokerQueues

        if self.started_with.group_share_dlq_manager_class_name != DEAD_LETTERS:
            return None
        topics = BrokerQueues(self.env, self.metadata, self.configs, self.logs, self.leaders, self.turns)
        return DeadLetterQueues(self.env, self.configs, topics)

    @cached_property
    def groups(self) -> GroupService:
        """Groups of every kind: membership, assignment, offsets."""
        from shareq.broker.groups.coordinator import group_coordinator_settings, group_log_settings
        from shareq.broker.groups.names import MostPerOwner
        from shareq.broker.groups.service import GroupService

        config = self.started_with
        self.made.groups = made = GroupService(
            host=self._host,
            configs=self.configs,
            settings=group_coordinator_settings(config),
            log_settings=group_log_settings(config),
            internal_topics=self.internal_topics,
            lookup=self.lookup,
            states=self.share_state_store,
            leaders=_LeadersMade(self.made, lambda: self.share),
            most_per_owner=MostPerOwner(
                config.shareq_max_groups_per_principal, config.shareq_max_members_per_principal
            ),
        )
        return made

    @cached_property
    def auto_creations(self) -> OwnedRate:
        """How many topics may be created because they were asked for."""
        from shareq.broker.quotas.owned_rate import OwnedRate
        from shareq.broker.topics.creation import AUTO_CREATED_BURST_S, AUTO_CREATED_PER_SECOND

        return OwnedRate(AUTO_CREATED_PER_SECOND, AUTO_CREATED_BURST_S)

    @cached_property
    def producer_names(self) -> ProducerNames:
        """Who added which producers to partitions."""
        from shareq.broker.transactions.names import ProducerNames

        return ProducerNames(self.started_with.shareq_max_producer_ids_per_principal, self.lookup.log, self.env.clock)

    @cached_property
    def transactions(self) -> TransactionService:
        """Transactional ids and their transactions."""
        from shareq.broker.transactions.coordinator import CleanupIntervals, transaction_coordinator_settings
        from shareq.broker.transactions.service import TransactionService

        config = self.started_with
        self.made.transactions = made = TransactionService(
            self._host,
            self.internal_topics,
            self.lookup,
            self.logs,
            lambda: self.groups.coordinator.partitions,
            begin=self.begin,
            new_producer_id=self.producer_ids.next,
            transaction_version=lambda: self.metadata.features.get(TRANSACTION_VERSION, 0),
            verifies=lambda: self.configs.broker.transaction_partition_verification_enable,
            settings=transaction_coordinator_settings(config),
            most_per_owner=config.shareq_max_transactional_ids_per_principal,
            intervals=CleanupIntervals(
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                config.transaction_remove_expired_transaction_cleanup_interval_ms,
            ),
        )
        return made

    @cached_property
    def redrives(self) -> RedriveService:
        """Dead letters on their way back."""
        from shareq.broker.redrive.service import RedriveService
        from shareq.broker.redrive.world import BrokerRedriveWorld

        world = BrokerRedriveWorld(
            metadata=self.metadata,
            configs=self.configs,
            logs=self.logs,
            leaders=self.leaders,
            turns=self.turns,
            budget=self.env.budget,
            begin=self.begin,
            groups=self.groups,
            producer_ids=self.producer_ids,
            authorizer=lambda: self.authorizer,
            audit=lambda: self.audit,
        )
        self.made.redrives = made = RedriveService(self.env, self.begin, world)
        return made
