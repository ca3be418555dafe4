"""The broker: everything of one process but its sockets, wired together. Runs on `env.clock`; knows no event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import BROKER, TOPIC, ConfigService
from shareq.broker.disk.guarded_db import GuardedMetaDb
from shareq.broker.disk.reserved_fs import ReservedFs
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.dispatch.dispatcher import Dispatcher
from shareq.broker.fetch.sessions import FetchSessions
from shareq.broker.fetch.wait import FetchWaits
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.manager import LogManager
from shareq.broker.metadata.changes import MetaDb, ResourceName
from shareq.broker.metadata.producer_ids import ProducerIds
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.metadata.topic_names import CONSUMER_OFFSETS, INTERNAL_TOPICS, SHARE_GROUP_STATE, TRANSACTION_STATE
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.topics.endpoint import Endpoint, advertised_endpoints
from shareq.broker.topics.internal import cleaner_rule_for, warn_of_counts_without_effect
from shareq.broker.topics.leaders import LeaderMap
from shareq.coordinator.ports import TopicImage

if TYPE_CHECKING:
    from shareq.broker.groups.administration import GroupAdministration
    from shareq.broker.groups.classic import ClassicGroupService
    from shareq.broker.groups.consumer import ConsumerGroupService
    from shareq.broker.groups.coordinator import GroupCoordinatorService
    from shareq.broker.groups.offsets import GroupOffsetsService
    from shareq.broker.security.authorizer import Authorizer
    from shareq.broker.security.invented_credentials import InventedCredentials
    from shareq.broker.share.coordinator import ShareCoordinatorService
    from shareq.broker.share.partitions import SharePartitionManager
    from shareq.broker.share.persister import Persister
    from shareq.broker.share.sessions import ShareSessionService
    from shareq.broker.transactions.coordinator import TransactionCoordinatorService


class Broker:
    """One broker. Construct, `start`, hand it frames, `stop_waiting`, `close`.

    Attributes are the services that handlers use. Everything runs on the thread that runs `env.clock`. `release_lock`
    is the data folder's lock if the caller has taken it already; without it `start` does. `persister` keeps the state
    of share partitions; without it the share coordinator of this broker does. `cluster_id` is what a new cluster gets.
    `disk` watches the data folder's file system; without it the broker makes its own. `from_format_1` is the manager of
    logs'.
    """

    def __init__(
        self,
        env: Environment,
        config: BrokerConfig,
        meta_db: MetaDb,
        *,
        endpoints: Mapping[str, Endpoint] | None = None,
        features: Mapping[str, int] | None = None,
        release_lock: Callable[[], None] | None = None,
        persister: Persister | None = None,
        cluster_id: str | None = None,
        disk: DiskWatch | None = None,
        from_format_1: bool = False,
    ) -> None:
        self.disk = disk or DiskWatch(env.clock, env.fs, config.data_dir, config.disk_settings)
        env = replace(env, fs=ReservedFs(env.fs, config.data_dir, self.disk.reserve))
        meta_db = GuardedMetaDb(meta_db, self.disk.reserve, lambda: self.disk.state)
        self.env = env
        self.config = config
        self.endpoints = dict(endpoints) if endpoints is not None else advertised_endpoints(config, {})
        features = {**config.requested_features, **(features or {})}
        self.metadata = MetadataStore(meta_db, env, features=features, rack=config.broker_rack, cluster_id=cluster_id)
        self.configs = ConfigService(config, self.metadata)
        self.authorizer = self._make_authorizer()
        self.logs = LogManager(
            env,
            config.data_dir,
            self.configs.log_settings,
            self.configs.flush_every_message,
            retention_check_ms=config.log_retention_check_interval_ms,
            producer_check_ms=config.producer_id_expiration_check_interval_ms,
            cleaner_settings=self.configs.cleaner_settings,
            cleaner_rule_for=cleaner_rule_for,
            coordinator_topics=INTERNAL_TOPICS,
            release_lock=release_lock,
            disk=self.disk,
            from_format_1=from_format_1,
        )
        self.producer_ids = ProducerIds(self.metadata)
        self.fetch_sessions = FetchSessions(
            config.max_incremental_fetch_session_cache_slots, lambda: env.rng.randint(1, 2**31 - 1)
        )
        self.leaders = LeaderMap()
        self._persister = persister
        self.fetch_waits = FetchWaits(env.clock)
        self.answer_budget = AnswerBudget(env.clock.call_soon)
        self.dispatcher = Dispatcher(self)
        self.handle_frame = self.dispatcher.handle_frame

    def start(self) -> None:
        """Recover every log and replay the coordinators' topics.

        Raises OSError, DataFolderInUseError; `close` is to be called then, too.
        """
        self.logs.open_all(self.metadata)
        self.logs.add_listener(self.fetch_waits.on_high_watermark)
        self.logs.add_log_start_listener(self.fetch_waits.on_log_start)
        self.metadata.on_topic_created(self._topic_changed)
        self.metadata.on_topic_grown(lambda topic, _before: self._topic_changed(topic))
        self.metadata.on_topic_deleted(self._topic_deleted)
        self.metadata.on_features_changed(self._features_changed)
        self.configs.on_change(self._config_changed)
        self.leaders.on_move(self._leader_moved)
        warn_of_counts_without_effect(self.metadata, self.config)
        if self.metadata.topic(SHARE_GROUP_STATE) is not None:
            self.share_coordinator.partitions.load()
            self.share_coordinator.finish_deletions()
        if self.metadata.topic(CONSUMER_OFFSETS) is not None:
            self.group_coordinator.partitions.load()
            self.group_coordinator.finish_deletions()
        if self.metadata.topic(TRANSACTION_STATE) is not None:
            self.transaction_coordinator.partitions.load()
            self.transaction_coordinator.resume()
        self.disk.start()

    def _make_authorizer(self) -> Authorizer | None:
        """Who may do what, by the ACLs in the metadata. None where everybody may do everything."""
        if not self.config.authorizer_class_name:
            return None
        from shareq.broker.security.authorizer import Authorizer

        authorizer = Authorizer(self.config.super_principals, allow_if_none=self.config.allow_everyone_if_no_acl_found)
        authorizer.replace(self.metadata.acls)
        self.metadata.on_acls_changed(lambda: authorizer.replace(self.metadata.acls))
        return authorizer

    # The coordinators are made, and their modules imported, when they are first needed: at the start if they have
    # something to recover, else by the first group or after the start, in idle time. A fresh broker listens earlier.

    @cached_property
    def share_coordinator(self) -> ShareCoordinatorService:
        """Durable state of share partitions."""
        from shareq.broker.share.coordinator import ShareCoordinatorService, share_coordinator_settings

        return ShareCoordinatorService(self, share_coordinator_settings(self.config))

    @cached_property
    def invented_credentials(self) -> InventedCredentials:
        """What SCRAM users who do not exist are asked for. Made before the first listener with SCRAM opens."""
        from shareq.broker.security.invented_credentials import InventedCredentials

        metadata = self.metadata
        invented = InventedCredentials(metadata.own_secret())
        invented.follow(metadata.credentials)
        metadata.on_credentials_changed(lambda: invented.follow(metadata.credentials))
        return invented

    @property
    def persister(self) -> Persister:
        """Where the state of share partitions is kept."""
        return self._persister or self.share_coordinator

    @cached_property
    def group_coordinator(self) -> GroupCoordinatorService:
        """Groups: membership and assignment."""
        from shareq.broker.groups.coordinator import GroupCoordinatorService, group_coordinator_settings

        return GroupCoordinatorService(self, self.persister, group_coordinator_settings(self.config))

    @cached_property
    def classic_groups(self) -> ClassicGroupService:
        """Classic groups: members, rebalances."""
        from shareq.broker.groups.classic import ClassicGroupService

        return ClassicGroupService(self)

    @cached_property
    def group_offsets(self) -> GroupOffsetsService:
        """Committed offsets."""
        from shareq.broker.groups.offsets import GroupOffsetsService

        return GroupOffsetsService(self)

    @cached_property
    def consumer_groups(self) -> ConsumerGroupService:
        """Members of consumer groups."""
        from shareq.broker.groups.consumer import ConsumerGroupService

        return ConsumerGroupService(self)

    @cached_property
    def transaction_coordinator(self) -> TransactionCoordinatorService:
        """Transactional ids and their transactions."""
        from shareq.broker.transactions.coordinator import (
            TransactionCoordinatorService,
            transaction_coordinator_settings,
        )

        return TransactionCoordinatorService(self, transaction_coordinator_settings(self.config))

    @cached_property
    def group_administration(self) -> GroupAdministration:
        """Listing, changing and deleting groups."""
        from shareq.broker.groups.administration import GroupAdministration

        return GroupAdministration(self)

    @cached_property
    def share_partitions(self) -> SharePartitionManager:
        """The share partitions this broker leads."""
        from shareq.broker.share.partitions import SharePartitionManager

        manager = SharePartitionManager(self, self.persister)
        self.logs.add_listener(manager.on_high_watermark)
        return manager

    @cached_property
    def share_sessions(self) -> ShareSessionService:
        """Share sessions of consumers."""
        from shareq.broker.share.sessions import ShareSessionService

        return ShareSessionService(self, self.config.group_share_max_share_sessions)

    def stop_waiting(self) -> None:
        """The broker is about to stop: answer long polls with what there is."""
        self.fetch_waits.finish_all()
        if "share_partitions" in self.__dict__:
            self.share_partitions.finish_waiting()
        if "share_sessions" in self.__dict__:
            self.share_sessions.stop()
        if "group_coordinator" in self.__dict__:
            self.group_coordinator.partitions.refuse_parked()

    def close(self, *, clean: bool = True) -> None:
        """Write everything out and close the files; unless `clean`, close them as they are."""
        self.disk.close(stopping=clean)
        if "share_partitions" in self.__dict__:
            self.share_partitions.close()
        if "transaction_coordinator" in self.__dict__:
            self.transaction_coordinator.close()
        if "group_coordinator" in self.__dict__:
            self.group_coordinator.partitions.close()
        if "share_coordinator" in self.__dict__:
            self.share_coordinator.partitions.close()
        self.logs.close(clean=clean)
        self.metadata.close()

    def _topic_changed(self, topic: TopicImage) -> None:
        """The topic is new, or has more partitions."""
        if "group_coordinator" in self.__dict__:
            self.group_coordinator.topic_created(topic)

    def _topic_deleted(self, topic: TopicImage) -> None:
        """Metadata has forgotten the topic; now everybody else does. Its folders go first: the rest can be repeated."""
        self.logs.delete_topic(topic.name, topic.topic_id)
        self.fetch_waits.topic_deleted(topic.topic_id)
        if "share_partitions" in self.__dict__:
            self.share_partitions.topic_deleted(topic)
        if "group_coordinator" in self.__dict__:
            self.group_coordinator.topic_deleted(topic)
        if "share_coordinator" in self.__dict__:
            self.share_coordinator.topic_deleted(topic)
        if "transaction_coordinator" in self.__dict__:
            self.transaction_coordinator.topic_deleted(topic)

    def _leader_moved(self, topic: str, partition: int) -> None:
        if "share_partitions" in self.__dict__:
            self.share_partitions.leader_moved(topic, partition)
        if topic == CONSUMER_OFFSETS and "group_coordinator" in self.__dict__:
            self.group_coordinator.partitions.resign(partition)
        if topic == SHARE_GROUP_STATE and "share_coordinator" in self.__dict__:
            self.share_coordinator.partitions.resign(partition)
        if topic == TRANSACTION_STATE and "transaction_coordinator" in self.__dict__:
            self.transaction_coordinator.partitions.resign(partition)

    def _features_changed(self) -> None:
        """Share groups that were switched off leave nothing in memory but what the coordinators keep."""
        if not self.metadata.share_groups_enabled and "share_partitions" in self.__dict__:
            self.share_sessions.sessions.clear()
            self.share_partitions.forget_all()

    def _config_changed(self, resource: ResourceName) -> None:
        if resource.kind == TOPIC:
            self.logs.reload_settings(resource.name)
        elif resource.kind == BROKER:
            self.logs.reload_settings()

    @property
    def endpoint(self) -> Endpoint:
        """Where clients of the first listener are told to connect."""
        return next(iter(self.endpoints.values()))

    def endpoint_for(self, listener: str) -> Endpoint:
        """Where clients of this listener are told to connect."""
        return self.endpoints.get(listener) or self.endpoint
