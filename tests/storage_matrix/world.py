"""A broker on real files and virtual time, in this process: its life, its death, and starts on damaged files.

Everything below the sockets is the code of `shareq serve`. Syncs are real calls, made at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from random import Random
from typing import Final

from devtools.in_memory.mock_transport import BrokerWorld
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder.opening import open_data_folder
from shareq.broker.data_folder.sqlite_record import META_DB_FILE, SqliteRecord
from shareq.broker.data_folder_ground import DataFolderGround
from shareq.broker.foundation.environment import Environment, File, SyncErrors
from shareq.broker.foundation.ground_error import GroundError
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.process.sockets import ServeError
from shareq.broker.topics.endpoint import Endpoint
from shareq.protocol.primitives import uuid_to_text

SETTINGS: Final = {
    "log.flush.interval.messages": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1200",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.segment.bytes": "1200",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.segment.bytes": "1200",
    "log.cleaner.min.cleanable.ratio": "0",
    "log.cleaner.backoff.ms": "1000",
    "shareq.disk.reserve.bytes": "65536",  # each damaged folder is a copy
}


class RealFs(OsFs):
    """Files of this machine with `boot` as its boot id. `before` is called before each rename and removal."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], None], boot: str) -> None:
        super().__init__(call_soon)
        self._call_soon = call_soon
        self._boot = boot
        self.before: Callable[[str, str], None] = lambda _kind, _path: None

    def boot_id(self) -> str:
        return self._boot

    def rename(self, source: str, target: str) -> None:
        self.before("rename", source)
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self.before("remove", path)
        super().remove(path)

    def sync_soon(
        self,
        files: Sequence[File],
        on_done: Callable[[SyncErrors], None],
        *,
        folders: Sequence[str] = (),
        bulk: bool = False,
    ) -> None:
        for file in files:
            file.sync()
        for folder in folders:
            self.sync_dir(folder)
        self._call_soon(lambda: on_done({}))


class RealWorld(BrokerWorld):
    """A world whose start may raise ServeError, with the text that `shareq serve` would print."""

    def __init__(self, data_dir: str, *, boot: str = "first", properties: Mapping[str, str] | None = None) -> None:
        self.clock = VirtualClock()
        self.files = RealFs(self.clock.call_soon, boot)
        self.config = BrokerConfig.load({"log.dirs": data_dir, **SETTINGS, **(properties or {})})
        self._connections = 0
        self._data_dir = data_dir
        self._seed = 1
        self.broker = self._boot()

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(self._seed), self.files)
        endpoint = Endpoint(self.config.node_id, "127.0.0.1", 9092)
        return start_broker(env, self.config, self._data_dir, endpoint)

    def stop(self) -> None:
        self.clock.run_until_idle()
        self.broker.stop_waiting()
        self.clock.run_until_idle()
        self.broker.close(clean=True)

    def restart_after_stop(self) -> None:
        self.clock.drop_everything()
        self.broker = self._boot()

    def abandon(self) -> None:
        """Close the files that a kill would leave open in this process, without a sync."""
        self.clock.drop_everything()
        with suppress(OSError, sqlite3.Error):
            self.broker.close(clean=False)


def start_broker(env: Environment, config: BrokerConfig, data_dir: str, endpoint: Endpoint) -> Broker:
    """Start a broker in the same order as `Server`, which needs an event loop. Raise ServeError."""
    with ExitStack() as undo:
        try:
            database = SqliteRecord(f"{data_dir}/{META_DB_FILE}", env.random_uuid().hex()[:8])
            folder = open_data_folder(env.fs, data_dir, database, lambda: uuid_to_text(env.random_uuid()))
            undo.callback(folder.release_lock)
            undo.callback(folder.meta_db.close)
            ground = DataFolderGround(
                env, config, folder.meta_db, release_lock=folder.release_lock, cluster_id=folder.cluster_id
            )
            broker = Broker(env, config, ground, endpoints={"PLAINTEXT": endpoint})
            undo.pop_all()
            undo.callback(broker.close, clean=False)
            broker.start()
        except GroundError as error:
            raise ServeError(str(error)) from error
        except OSError as error:
            raise ServeError(f"data folder {data_dir} cannot be used: {error}") from error
        undo.pop_all()
    return broker


__all__ = ["SETTINGS", "RealFs", "RealWorld", "ServeError", "start_broker"]
