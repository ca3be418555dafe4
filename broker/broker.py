"""The broker: everything of one process but its sockets. Runs on `env.clock`; knows no event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import BROKER, TOPIC
from shareq.broker.disk.reserved_fs import ReservedFs
from shareq.broker.disk.watch import DiskWatch
from shareq.broker.dispatch.dispatcher import Dispatcher
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.segments.files import DEFAULT_OPEN_FILES
from shareq.broker.metadata.changes import MetaDb, ResourceName
from shareq.broker.services import Services
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.internal import warn_of_counts_without_effect
from shareq.coordinator.ports import TopicImage
from shareq.protocol.names import CONSUMER_OFFSETS, REDRIVES, SHARE_GROUP_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from shareq.broker.services import ShareStateStore


class Broker:
    """One broker. Construct, `start`, hand it connections, `stop_waiting`, `close`.

    `services` are its parts; `handler_for` makes what handles the frames of a new connection. Everything runs on the
    thread that runs `env.clock`. `release_lock` is the data folder's lock if the caller has taken it already; without
    it `start` does. `states` keeps the state of share partitions; without it the share coordinator of this broker does.
    `cluster_id` is what a new cluster gets. `disk` watches the data folder's file system; without it the broker makes
    its own. `from_format_1` and `max_open_files` are the manager of logs'.
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
        states: ShareStateStore | None = None,
        cluster_id: str | None = None,
        disk: DiskWatch | None = None,
        from_format_1: bool = False,
        max_open_files: int = DEFAULT_OPEN_FILES,
    ) -> None:
        disk = disk or DiskWatch(env.clock, env.fs, config.data_dir, config.disk_settings)
        self.services = Services(
            env.with_fs(ReservedFs(env.fs, config.data_dir, disk.reserve)),
            config,
            meta_db,
            disk,
            endpoints=endpoints,
            features=features,
            release_lock=release_lock,
            states=states,
            cluster_id=cluster_id,
            from_format_1=from_format_1,
            max_open_files=max_open_files,
        )
        self.dispatcher = Dispatcher(self.services)
        self.handler_for = self.dispatcher.handler_for

    def start(self) -> None:
        """Recover every log and replay the coordinators' topics.

        Raises OSError, DataFolderInUseError; `close` is to be called then, too.
        """
        services = self.services
        services.logs.open_all(services.metadata)
        self._listen()
        warn_of_counts_without_effect(services.metadata, services.started_with)
        if services.metadata.topic(SHARE_GROUP_STATE) is not None:
            services.share_states.recover()
        if services.metadata.topic(CONSUMER_OFFSETS) is not None:
            services.groups.recover()
            if services.groups.offsets.group_ids(REDRIVES):
                services.redrives.recover()
        if services.metadata.topic(TRANSACTION_STATE) is not None:
            services.transactions.recover()
        services.disk.start()

    def stop_waiting(self) -> None:
        """The broker is about to stop: answer long polls with what there is."""
        self.services.fetch_waits.finish_all()
        for service in self.services.made:
            service.stop_waiting()

    def close(self, *, clean: bool = True) -> None:
        """Write everything out and close the files; unless `clean`, close them as they are."""
        services = self.services
        services.turns.close()
        services.audit.flush()
        services.disk.close(stopping=clean)
        for service in services.made:
            service.close()
        services.logs.close(clean=clean)
        services.metadata.close()

    # -- news, in the order in which the parts have to get them

    def _listen(self) -> None:
        logs, metadata, waits = self.services.logs, self.services.metadata, self.services.fetch_waits
        logs.add_listener(waits.on_high_watermark)
        logs.add_log_start_listener(waits.on_log_start)
        metadata.on_topic_created(self._topic_changed)
        metadata.on_topic_grown(lambda topic, _before: self._topic_changed(topic))
        metadata.on_topic_deleted(self._topic_deleted)
        metadata.on_features_changed(self._features_changed)
        self.services.configs.on_change(self._config_changed)
        self.services.leaders.on_move(self._leader_moved)

    def _topic_changed(self, topic: TopicImage) -> None:
        for service in self.services.made:
            service.topic_changed(topic)

    def _topic_deleted(self, topic: TopicImage) -> None:
        """The metadata has forgotten the topic; now the others do. Its folders go first: the rest can be repeated."""
        self.services.logs.delete_topic(topic.name, topic.topic_id)
        self.services.fetch_waits.topic_deleted(topic.topic_id)
        for service in self.services.made:
            service.topic_goes(topic)
        for service in self.services.made:
            service.topic_deleted(topic)

    def _leader_moved(self, topic: str, partition: int) -> None:
        self.services.fetch_waits.leader_moved(topic, partition)
        for service in self.services.made:
            service.leader_moved(topic, partition)

    def _features_changed(self) -> None:
        if not self.services.metadata.share_groups_enabled:
            for service in self.services.made:
                service.share_groups_disabled()

    def _config_changed(self, resource: ResourceName) -> None:
        if resource.kind == TOPIC:
            self.services.logs.reload_settings(resource.name)
        elif resource.kind == BROKER:
            self.services.logs.reload_settings()
