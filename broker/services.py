"""Every service of the broker, built with exactly the parts that it needs. No other module knows all of them.

A service that a start does not need is created, and its modules imported, when it is first needed: at the start if
there is something to recover, otherwise by the first group, or in idle time after the start. So a fresh broker
listens earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import GROUP
from shareq.broker.fetch.large_reads import LargeReads
from shareq.broker.fetch.sessions import FetchSessions
from shareq.broker.fetch.wait import FetchWaits
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import beginner
from shareq.broker.foundation.loop.stall_meter import Stalls
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.metadata.changes import PutAcl, PutConfig, ResourceName
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.request_budget import RequestBudget
from shareq.broker.network.write_share import WriteShare
from shareq.broker.quotas.clients import ClientQuotas
from shareq.broker.quotas.rate import Windows
from shareq.broker.topics.endpoint import Endpoint, advertised_endpoints
from shareq.protocol.names import PAUSED, PAUSED_BY_BREAKER

if TYPE_CHECKING:
    from shareq.broker.foundation.bounded_log import BoundedLogs
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.foundation.service import Service
    from shareq.broker.ground import Ground, ShareStateStore
    from shareq.broker.groups.ports import ShareLeaders
    from shareq.broker.groups.service import GroupService
    from shareq.broker.network.audit_log import AuditLog
    from shareq.broker.quotas.owned_rate import OwnedRate
    from shareq.broker.security.authorizer import Authorizer
    from shareq.broker.security.credentials import ScramCredential
    from shareq.broker.security.invented_credentials import InventedCredentials
    from shareq.broker.share.coordinator import OwedLetters, ShareCoordinatorService
    from shareq.broker.share.dlq.queues import DeadLetterQueues
    from shareq.broker.share.service import ShareService
    from shareq.coordinator.share.keys import SharePartitionKey
    from shareq.protocol.errors import ApiError


class Made:
    """The lazy services that have been created. News for them creates none."""

    __slots__ = ("groups", "of_ground", "share", "share_states")

    def __init__(self) -> None:
        self.of_ground: list[Service] = []
        self.share: ShareService | None = None
        self.groups: GroupService | None = None
        self.share_states: ShareCoordinatorService | None = None

    def __iter__(self) -> Iterator[Service]:
        """Yield the services in the order in which they are notified."""
        made = (*self.of_ground, self.share, self.groups, self.share_states)
        return (each for each in made if each is not None)

    def states_of(self, topic_id: bytes) -> int:
        """Return how many share partitions of a topic have a state."""
        return 0 if self.share_states is None else self.share_states.states_of(topic_id)


class _LeadersMade:
    """The leaders of share partitions, as `ShareLeaders`. As long as none have been created, there is nothing to
    drop.
    """

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

    `started_with` is the configuration at the start, `configs.broker` the present one. See `Broker` for the other
    arguments.
    """

    def __init__(
        self,
        env: Environment,
        started_with: BrokerConfig,
        ground: Ground[Services],
        *,
        endpoints: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.env = env
        self.started_with = started_with
        self.ground = ground
        self.endpoints = dict(endpoints) if endpoints is not None else advertised_endpoints(started_with, {})
        self.metadata = ground.metadata
        self.configs = ground.configs
        self.leaders = ground.leaders
        self.lookup = ground.lookup
        self.metadata.on_config_changed(self._warn_of_queue)
        self.authorizer = self._make_authorizer()
        self.quotas = self._make_quotas()
        self.fetch_sessions = FetchSessions(
            started_with.max_incremental_fetch_session_cache_slots, lambda: env.rng.randint(1, 2**31 - 1)
        )
        self.fetch_waits = FetchWaits(env.clock)
        self.answer_budget = AnswerBudget(env.clock)
        self.write_share = WriteShare(env.clock)
        self.large_reads = LargeReads(env.clock, self.write_share)
        self.turns = Turns(env.clock.call_soon)
        self.begin = beginner(env.budget, self.turns.run)
        self.stalls = Stalls()
        self.request_budget = RequestBudget(
            env.clock, started_with.queued_max_request_bytes, started_with.socket_request_max_bytes
        )
        self.internal_topics = ground.internal_topics
        self.made = Made()
        self.send_clients_away: Callable[[], None] = lambda: None
        """A function that closes all connections, so that their clients look for another broker. The server sets it.
        """

    @property
    def endpoint(self) -> Endpoint:
        """The address for clients of the first listener."""
        return next(iter(self.endpoints.values()))

    def endpoint_for(self, listener: str) -> Endpoint:
        """Return the address for clients of this listener."""
        return self.endpoints.get(listener) or self.endpoint

    @cached_property
    def audit(self) -> AuditLog:
        """The log of the authorizer's decisions."""
        from shareq.broker.network.audit_log import AuditLog

        return AuditLog(self.env.clock, self.started_with.shareq_audit_max_lines_per_minute)

    @cached_property
    def client_lines(self) -> BoundedLogs:
        """The limited log of refused client requests."""
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
        """Return an authorizer with the ACLs in the metadata; None if every client has every right."""
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
        """Log a warning if a group's dead-letter queue would get no letters.

        As in Apache Kafka, the property is accepted nevertheless.
        """
        if resource.kind != GROUP or not self.configs.share_group(resource.name).dead_letter_queue:
            return
        from shareq.broker.share.dlq.broker_queues import warn_of_queue

        queues = self.ground.queues(self.turns)
        warn_of_queue(resource.name, self.configs.share_group(resource.name).dead_letter_queue, queues)

    # -- what SCRAM asks for

    @cached_property
    def invented_credentials(self) -> InventedCredentials:
        """The credentials invented for SCRAM users that do not exist.

        They are created before the first listener with SCRAM opens, because their secret may have to be stored.
        """
        from shareq.broker.security.invented_credentials import InventedCredentials

        metadata = self.metadata
        invented = InventedCredentials(metadata.own_secret())
        invented.follow(metadata.credentials.items())
        metadata.on_credentials_changed(invented.follow)
        return invented

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential:
        """Return a user's credential; for a user that does not exist, one that matches no password.

        Both take equally long.
        """
        from shareq.broker.security.credentials import CredentialKey

        invented = self.invented_credentials.of(mechanism, user)
        return self.metadata.credentials.get(CredentialKey(user, mechanism), invented)

    # -- made when they are first needed

    @cached_property
    def share_states(self) -> ShareCoordinatorService:
        """The share coordinator, with the durable state of share partitions."""
        from shareq.broker.share.coordinator import (
            ShareCoordinatorService,
            share_coordinator_settings,
            share_state_log_settings,
        )

        config = self.started_with
        self.made.share_states = made = ShareCoordinatorService(
            self.ground.host, share_coordinator_settings(config), share_state_log_settings(config), self._write_letters
        )
        return made

    def _write_letters(self, owed: OwedLetters) -> None:
        """Have the dead letters written of states that are removed with their topics."""
        names = {topic.topic_id: topic.name for topic in self.metadata.deleted_topics()}
        self.share.last_letters.write_orphaned(owed, names)

    @cached_property
    def share_leaders(self) -> ShareLeaders:
        """The leaders of share partitions, for operations that change states. Using this creates no service."""
        return _LeadersMade(self.made, lambda: self.share)

    @property
    def share_state_store(self) -> ShareStateStore:
        """The store of share partitions' state."""
        return self.ground.states or self.share_states

    @cached_property
    def share(self) -> ShareService:
        """The service of the share partitions that this broker leads, and of their consumers' sessions."""
        from shareq.broker.share.service import ShareService

        self.made.share = made = ShareService(
            env=self.env,
            sources=self.ground.sources,
            settings=self.configs,
            other_leaders=self.leaders,
            persister=self.share_state_store,
            metadata=self.metadata,
            answer_budget=self.answer_budget,
            max_sessions=self.started_with.group_share_max_share_sessions,
            make_queues=self._make_dead_letter_queues,
            pause=self._pause_group,
        )
        self.ground.sources.add_listener(made.partitions.on_high_watermark)
        self.configs.on_change(made.config_changed)
        return made

    def _pause_group(self, group_id: str) -> Pending[ApiError]:
        """Pause a share group, as an operator would, but in the name of its breaker."""
        return self.metadata.alter_configs([PutConfig(ResourceName(GROUP, group_id), PAUSED, PAUSED_BY_BREAKER)])

    def _make_dead_letter_queues(self) -> DeadLetterQueues | None:
        """Return the writer of share groups' dead letters; None if `group.share.dlq.manager.class.name` turns it
        off.
        """
        from shareq.broker.config.keys.share import DEAD_LETTERS
        from shareq.broker.share.dlq.queues import DeadLetterQueues

        if self.started_with.group_share_dlq_manager_class_name != DEAD_LETTERS:
            return None
        return DeadLetterQueues(self.env, self.configs, self.ground.queues(self.turns))

    @cached_property
    def groups(self) -> GroupService:
        """The service of groups of every kind: membership, assignment, offsets."""
        from shareq.broker.groups.coordinator import group_coordinator_settings, group_log_settings
        from shareq.broker.groups.names import MostPerOwner
        from shareq.broker.groups.service import GroupService

        config = self.started_with
        self.made.groups = made = GroupService(
            host=self.ground.host,
            configs=self.configs,
            settings=group_coordinator_settings(config),
            log_settings=group_log_settings(config),
            internal_topics=self.internal_topics,
            lookup=self.lookup,
            states=self.share_state_store,
            leaders=self.share_leaders,
            most_per_owner=MostPerOwner(
                config.shareq_max_groups_per_principal, config.shareq_max_members_per_principal
            ),
        )
        return made

    @cached_property
    def auto_creations(self) -> OwnedRate:
        """The rate limit on topics that are created because clients ask for their metadata."""
        from shareq.broker.quotas.owned_rate import OwnedRate
        from shareq.broker.topics.creation import AUTO_CREATED_BURST_S, AUTO_CREATED_PER_SECOND

        return OwnedRate(AUTO_CREATED_PER_SECOND, AUTO_CREATED_BURST_S)
