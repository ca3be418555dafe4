"""A data folder as the ground of a broker: its metadata, its logs, and the features that need them, such as
transactions and redrives. Handlers and metrics that need a data folder get it here.

Parts that a start does not need are created, and their modules imported, when they are first needed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from os.path import abspath
from typing import TYPE_CHECKING, Final

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import BROKER, TOPIC, ConfigService
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.data_folder.opening import open_data_folder
from shareq.broker.data_folder.sqlite_record import META_DB_FILE, SqliteRecord
from shareq.broker.disk.guarded_db import GuardedMetaDb
from shareq.broker.disk.reserved_fs import ReservedFs
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.os_fs import open_to_others
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.cleaner.schedule import Cleaning
from shareq.broker.log.manager import LogManager, note_addresses
from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES
from shareq.broker.log.upkeep import CheckTimes
from shareq.broker.metadata.changes import MetaDb, ResourceName
from shareq.broker.metadata.features import SHARE_TRANSACTIONS, TRANSACTION_VERSION
from shareq.broker.metadata.producer_ids import ProducerIds
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.topics.internal import InternalTopics, cleaner_rule_for, warn_of_counts_without_effect
from shareq.broker.topics.leaders import LeaderMap
from shareq.broker.topics.lookup import PartitionLookup
from shareq.coordinator.ports import TopicImage
from shareq.protocol.names import CONSUMER_OFFSETS, REDRIVES, SHARE_GROUP_STATE, TRANSACTION_STATE
from shareq.protocol.primitives import uuid_to_text

if TYPE_CHECKING:
    from shareq.broker.foundation.loop.turns import Turns
    from shareq.broker.ground import ShareStateStore
    from shareq.broker.log.markers import TransactionMarker
    from shareq.broker.network.connection import Connection
    from shareq.broker.redrive.service import RedriveService
    from shareq.broker.services import Services
    from shareq.broker.share.dlq.broker_queues import BrokerQueues
    from shareq.broker.share_transactions import ShareTransactions
    from shareq.broker.transactions.names import ProducerNames
    from shareq.broker.transactions.service import TransactionService
    from shareq.protocol.errors import ApiError, ErrorCode

logger = logging.getLogger(__name__)


class DataFolderGround:
    """The `Ground` of a broker with a data folder. It guards `env.fs` and `meta_db` against a full disk.

    `release_lock` releases the data folder's lock if the caller has locked it already; otherwise `open` locks it.
    `states` stores the states of share partitions; without it the broker's share coordinator does. `cluster_id` is
    the id for a new cluster. `disk` watches the data folder's file system; without it the ground creates one.
    `from_format_1` and `max_open_files` are for the `LogManager`.
    """

    handlers: Final = HANDLERS
    metrics: Final = "shareq.broker.metrics.data_folder"
    first_used: Final = (
        "shareq.broker.transactions.service",
        "shareq.broker.transactions.names",
        "shareq.broker.transactions.produce",
        "shareq.broker.log.recovery.producers",
        "shareq.broker.log.recovery.recover",
        "shareq.broker.log.cleaner.candidates",
        "shareq.broker.log.cleaner.cleaning",
    )
    problem: Final = None
    nodes: Final = None

    def __init__(
        self,
        env: Environment,
        config: BrokerConfig,
        meta_db: MetaDb,
        *,
        features: Mapping[str, int] | None = None,
        release_lock: Callable[[], None] | None = None,
        states: ShareStateStore | None = None,
        cluster_id: str | None = None,
        disk: DiskWatch | None = None,
        from_format_1: bool = False,
        max_open_files: int = DEFAULT_OPEN_FILES,
    ) -> None:
        self.name = f"data folder {abspath(config.data_dir)}"
        self.states = states
        self.disk = disk = disk or DiskWatch(env.clock, env.fs, config.data_dir, config.disk_settings)
        self._env = env = env.with_fs(ReservedFs(env.fs, config.data_dir, disk.reserve))
        self._config = config
        self.fs: Final = env.fs
        self.metadata = MetadataStore(
            GuardedMetaDb(meta_db, disk.reserve, lambda: disk.state),
            env,
            features={**config.requested_features, **(features or {})},
            rack=config.broker_rack,
            cluster_id=cluster_id,
        )
        self.configs = ConfigService(config, self.metadata)
        self.logs = LogManager(
            env,
            config.data_dir,
            self.configs.log_settings,
            self.configs.flush_every_message,
            check_times=CheckTimes(
                config.log_retention_check_interval_ms, config.producer_id_expiration_check_interval_ms
            ),
            cleaning=Cleaning(self.configs.cleaner_settings, cleaner_rule_for, INTERNAL_TOPICS),
            release_lock=release_lock,
            disk=disk,
            from_format_1=from_format_1,
            max_open_files=max_open_files,
            gate=self.metadata.gate,
        )
        self.sources = self.fetched = self.logs
        self.leaders = LeaderMap()
        self.lookup = PartitionLookup(self.metadata, self.logs, self.leaders)
        self.internal_topics = InternalTopics(self.metadata, lambda: self.configs.broker)
        self.producer_ids = ProducerIds(self.metadata)
        self.made_transactions: TransactionService | None = None
        self.made_redrives: RedriveService | None = None
        self._services: Services | None = None
        self.metadata.on_topics_deleted(self._topics_deleted)
        self.configs.on_change(self._config_changed)

    def queues(self, turns: Turns) -> BrokerQueues:
        """Return the topics of this folder, as the port for dead-letter queues."""
        from shareq.broker.share.dlq.broker_queues import BrokerQueues

        return BrokerQueues(self._env, self.metadata, self.configs, self.logs, self.leaders, turns)

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        """Create topics with the broker's defaults, several of them in one commit."""
        from shareq.broker.topics.creation import auto_create

        return await auto_create(self.metadata, self.configs, names)

    # -- start and stop

    def open(self, services: Services) -> None:
        """Recover every log and replay the coordinators' topics. Raise OSError, DamagedFolderError,
        DataFolderInUseError.
        """
        self._services = services
        metadata = self.metadata
        self.logs.open_all(metadata)
        warn_of_counts_without_effect(metadata, self._config)
        with self.logs.pool.waiting():
            self._recover_coordinators(services)
        self.disk.start()

    def _recover_coordinators(self, services: Services) -> None:
        metadata = self.metadata
        if metadata.topic(SHARE_GROUP_STATE) is not None:
            services.share_states.recover()
        if metadata.topic(CONSUMER_OFFSETS) is not None:
            services.groups.recover()
            if services.groups.offsets.group_ids(REDRIVES):
                self.redrives.recover()
        if metadata.topic(TRANSACTION_STATE) is not None:
            self.transactions.recover()

    def leave(self) -> Pending[None]:
        """Complete at once, because no other broker takes anything over."""
        return completed(None)

    def close(self, *, clean: bool) -> None:
        """Close the files; with `clean`, first write everything out."""
        self.disk.close(stopping=clean)
        self.logs.close(clean=clean)
        self.metadata.close()

    # -- news

    def _topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Remove the folders of topics that were deleted from the metadata.

        They are removed before other parts are notified, whose work can be repeated.
        """
        for topic in topics:
            self.logs.delete_topic(topic.name, topic.topic_id)

    def _config_changed(self, resource: ResourceName) -> None:
        if resource.kind == TOPIC:
            self.logs.reload_settings(resource.name)
        elif resource.kind == BROKER:
            self.logs.reload_settings()

    # -- made when they are first needed

    @cached_property
    def host(self) -> CoordinatorHost:
        """The parts that the broker's coordinators use."""
        from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA

        return CoordinatorHost(
            self._env, self.metadata, self.logs, self.leaders, AS_APACHE_KAFKA, believes_absence=True
        )

    @cached_property
    def producer_names(self) -> ProducerNames:
        """The producers that owners have added to partitions."""
        from shareq.broker.transactions.names import ProducerNames

        most = self._config.shareq_max_producer_ids_per_principal
        return ProducerNames(most, self.lookup.log, self._env.clock)

    @cached_property
    def transactions(self) -> TransactionService:
        """The service of transactional ids and their transactions."""
        from shareq.broker.transactions.coordinator import CleanupIntervals, transaction_coordinator_settings
        from shareq.broker.transactions.service import TransactionService

        config, services = self._config, self._opened_by
        self.made_transactions = made = TransactionService(
            self.host,
            self.internal_topics,
            self.lookup,
            self.logs,
            lambda: services.groups.coordinator.partitions,
            begin=services.begin,
            new_producer_id=self.producer_ids.next,
            transaction_version=lambda: self.metadata.features.get(TRANSACTION_VERSION, 0),
            verifies=lambda: self.configs.broker.transaction_partition_verification_enable,
            settings=transaction_coordinator_settings(config),
            most_per_owner=config.shareq_max_transactional_ids_per_principal,
            end_in_share=self._end_in_share,
            intervals=CleanupIntervals(
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                config.transaction_remove_expired_transaction_cleanup_interval_ms,
            ),
        )
        services.made.of_ground.append(made)
        return made

    @cached_property
    def share_transactions(self) -> ShareTransactions:
        """Return the service of share groups' acknowledgements in transactions."""
        from shareq.broker.share_transactions import ShareTransactions

        services = self._opened_by
        return ShareTransactions(
            self._env,
            services.share.partitions,
            services.share_states,
            self.metadata,
            self.logs,
            lambda: self.transactions,
        )

    def _end_in_share(self, place: int, marker: TransactionMarker) -> Pending[ErrorCode] | None:
        """End a transaction in a partition of `__share_group_state`; None if there can be none."""
        states = self._opened_by.share_states
        if not self.metadata.features.get(SHARE_TRANSACTIONS, 0) and not states.has_staged:
            return None
        return self.share_transactions.end(place, marker)

    @cached_property
    def redrives(self) -> RedriveService:
        """The service of dead letters that are sent back."""
        from shareq.broker.redrive.service import RedriveService
        from shareq.broker.redrive.world import BrokerRedriveWorld

        services = self._opened_by
        world = BrokerRedriveWorld(
            metadata=self.metadata,
            configs=self.configs,
            logs=self.logs,
            leaders=self.leaders,
            turns=services.turns,
            budget=self._env.budget,
            begin=services.begin,
            groups=services.groups,
            producer_ids=self.producer_ids,
            authorizer=lambda: services.authorizer,
            audit=lambda: services.audit,
        )
        self.made_redrives = made = RedriveService(self._env, services.begin, world)
        services.made.of_ground.append(made)
        return made

    @property
    def _opened_by(self) -> Services:
        assert self._services is not None, "the ground is open"
        return self._services


def open_ground(
    env: Environment,
    config: BrokerConfig,
    data_dir: str,
    *,
    features: Mapping[str, int],
    max_open_files: int,
    durable_metadata: bool,
    addresses: Sequence[str],
) -> DataFolderGround:
    """Open the data folder, which takes its lock, as the ground of a broker. `data_dir` is its absolute path;
    `addresses` are those at which clients reach the broker.

    Unless `durable_metadata`, commits survive a kill, but not a power loss. Raise DataFolderError,
    DataFolderInUseError, FeatureError, OSError.
    """
    disk = DiskWatch(env.clock, env.fs, data_dir, config.disk_settings)
    database = SqliteRecord(f"{data_dir}/{META_DB_FILE}", env.random_uuid().hex()[:8], durable=durable_metadata)
    folder = open_data_folder(
        ReservedFs(env.fs, data_dir, disk.reserve),
        data_dir,
        database,
        lambda: uuid_to_text(env.random_uuid()),
        disk.make_room_to_start,
        syncs_journal_in_background=True,
    )
    with ExitStack() as undo:
        undo.callback(folder.release_lock)
        undo.callback(folder.meta_db.close)
        with suppress(OSError):  # it helps others, and not the broker
            note_addresses(env.fs, data_dir, addresses)
        mode = open_to_others(data_dir)
        if mode:
            logger.warning("data folder %s is open to every user of this machine, mode %s: chmod 700", data_dir, mode)
        ground = DataFolderGround(
            env,
            config,
            folder.meta_db,
            features=features,
            release_lock=folder.release_lock,
            cluster_id=folder.cluster_id,
            disk=disk,
            from_format_1=folder.from_format_1,
            max_open_files=max_open_files,
        )
        undo.pop_all()
    return ground


def data_folder_of(services: Services) -> DataFolderGround:
    """Return the data folder of a broker, for services that need one."""
    assert isinstance(services.ground, DataFolderGround), f"{services.ground.name} is no data folder"
    return services.ground


class FolderContext(RequestContext):
    """The context of a handler that needs a data folder. It is also the `Sender` of the batches that a client sends
    to its logs.
    """

    __slots__ = ("ground",)

    def __init__(self, services: Services, connection: Connection, api_version: int, client_id: str | None) -> None:
        super().__init__(services, connection, api_version, client_id)
        self.ground: Final = data_folder_of(services)

    def may_add_producer(self, topic: str, partition: int, producer_id: int) -> bool:
        """Return True if the client's owner may add one more producer to a partition, as the log's `Sender`."""
        return self.ground.producer_names.admit(topic, partition, producer_id, self.owner)
