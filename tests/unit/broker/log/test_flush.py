"""Failed writes, full disks, failed syncs and group commit."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from devtools.in_memory.mem_fs import CrashModel
from shareq.broker.foundation.loop.coroutines import result_of
from shareq.broker.foundation.turn_budget import unpaused
from shareq.broker.log.partition_log import AppendInfo, Origin, PartitionLog
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from tests.support.worlds.log_world import DATA, TOPIC, LogWorld, batch_of, read_all, values_of

LOG_FILE = f"{DATA}/{TOPIC}-0/00000000000000000000.log"
SIZE = len(batch_of(b"0"))

NONE, FAILED = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR


@pytest.fixture
def world() -> LogWorld:
    return LogWorld(flush_every_message=True)


def fail(world: LogWorld, *kinds: str, path: str = "") -> None:
    world.fs.fail = lambda kind, at: OSError(errno.EIO, "input/output error") if kind in kinds and path in at else None


def test_a_failed_write_takes_its_appends_back_and_nothing_else() -> None:
    world = LogWorld()
    world.produce(b"kept")
    reported: list[ErrorCode] = []
    fail(world, "write")
    assert world.append(batch_of(b"lost"), reported.append) == AppendInfo(1, 1, -1, 0, False)
    assert world.append(batch_of(b"lost too"), reported.append) == AppendInfo(2, 2, -1, 0, False)
    world.tick()
    assert reported == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert (world.log.log_end_offset, world.log.high_watermark) == (1, 1)
    assert len(world.fs.content(LOG_FILE)) == len(batch_of(b"kept"))  # what was torn is cut off
    world.fs.fail = None
    assert world.produce(b"next").base_offset == 1
    assert values_of(read_all(world.log)) == [b"kept", b"next"]
    world.restart(clean=False)
    assert values_of(read_all(world.log)) == [b"kept", b"next"]


def test_a_failed_write_leaves_no_trace_in_the_indexes() -> None:
    world = LogWorld(LogSettings(index_interval_bytes=100))
    now = world.clock.wall_ms()
    for round_ in range(10):
        for at in range(8):
            world.append(batch_of(bytes(10 * at), timestamp_ms=now + round_))
        world.tick()
        fail(world, "write")
        for at in range(20):
            world.append(batch_of(bytes(5 * at), b"", timestamp_ms=now + 1_000_000))
        world.tick()
        world.fs.fail = None
    for restart in (False, True):
        if restart:
            world.restart()
        for offset in range(80):
            result = world.log.read(offset, 1, upto=80)
            assert isinstance(result, ReadResult)
            assert [span.base_offset for span in result.batches] == [offset]
        assert result_of(world.log.seek_max_timestamp(unpaused)) == (now + 9, 72)
        assert world.log.offset_for_timestamp(now + 5) == (now + 5, 40)
        assert world.log.offset_for_timestamp(now + 10) is None


def test_a_full_disk_fails_requests_and_the_broker_stays_up() -> None:
    world = LogWorld()
    world.produce(b"kept")
    world.fs.space_left = SIZE + 30
    reported: list[ErrorCode] = []
    world.append(batch_of(b"1"), reported.append)
    world.tick()
    for _ in range(3):
        world.append(batch_of(b"2"), reported.append)
        world.tick()
    assert reported == [ErrorCode.NONE] + [ErrorCode.KAFKA_STORAGE_ERROR] * 3
    assert values_of(read_all(world.log)) == [b"kept", b"1"]
    world.fs.space_left = None
    assert world.produce(b"3").base_offset == 2


def test_a_full_disk_at_the_first_append() -> None:
    world = LogWorld()
    reported: list[ErrorCode] = []
    for step in range(8):
        fail(world, *("mkdir", "create", "write", "rename")[: step % 5])
        world.append(batch_of(b"x"), reported.append)
        world.tick()
    world.fs.fail = None
    written = reported.count(ErrorCode.NONE)
    assert reported.count(ErrorCode.KAFKA_STORAGE_ERROR) == len(reported) - written
    assert world.log.log_end_offset == written
    assert world.produce(b"y").base_offset == written
    world.restart()
    assert len(read_all(world.log)) == written + 1


def test_a_failed_write_takes_back_what_producers_did() -> None:
    world = LogWorld()
    world.append(batch_of(b"0", producer_id=1, producer_epoch=0, base_sequence=0))
    world.tick()
    fail(world, "write")
    world.append(batch_of(b"1", producer_id=1, producer_epoch=0, base_sequence=1))
    world.append(batch_of(b"2", producer_id=1, producer_epoch=0, base_sequence=2))
    world.append(batch_of(b"a", producer_id=2, producer_epoch=0, base_sequence=0))
    world.tick()
    world.fs.fail = None
    assert world.append(batch_of(b"2", producer_id=1, producer_epoch=0, base_sequence=2)) is (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    again = world.append(batch_of(b"1", producer_id=1, producer_epoch=0, base_sequence=1))
    assert again == AppendInfo(1, 1, -1, 0, False)
    assert world.append(batch_of(b"a", producer_id=2, producer_epoch=0, base_sequence=0)) == AppendInfo(
        2, 2, -1, 0, False
    )


def test_a_failed_write_while_rolling_within_a_tick() -> None:
    """Bytes written into the old segment are kept, and the append that needed a new one is refused at once."""
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE))
    reported: list[tuple[int, ErrorCode]] = []

    def append(at: int) -> AppendInfo | ErrorCode:
        return world.append(batch_of(b"%d" % at), lambda error: reported.append((at, error)))

    world.produce(b"x")
    fail(world, "write")
    append(0)
    assert append(1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.log.log_end_offset == 1
    world.fs.fail = None
    for at in (2, 3, 4):
        assert isinstance(append(at), AppendInfo)
    world.tick()
    assert sorted(reported) == [
        (0, ErrorCode.KAFKA_STORAGE_ERROR),
        (2, ErrorCode.NONE),
        (3, ErrorCode.NONE),
        (4, ErrorCode.NONE),
    ]
    assert values_of(read_all(world.log)) == [b"x", b"2", b"3", b"4"]


def test_a_write_that_cannot_be_removed_takes_the_log_offline(caplog: pytest.LogCaptureFixture) -> None:
    world = LogWorld()
    world.produce(b"kept")
    fail(world, "write", "truncate", path="orders-0")
    reported: list[ErrorCode] = []
    world.append(batch_of(b"lost"), reported.append)
    world.tick()
    world.fs.fail = None
    assert reported == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert world.append(batch_of(b"x")) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.log.read(0, 100, upto=1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.delete_records(1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert "offline until the next start" in caplog.text
    assert isinstance(
        world.logs.get(TOPIC, 1).append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms()),
        AppendInfo,
    )
    world.tick()
    world.restart()
    assert values_of(read_all(world.log)) == [b"kept"]


# -- sync


def syncs(world: LogWorld) -> int:
    return sum(1 for kind, path in world.fs.history if kind == "sync" and path.endswith(".log"))


def test_without_flushing_every_message_only_new_names_are_synced() -> None:
    """A power loss once left a folder with an empty `partition.metadata` and default settings."""
    world = LogWorld()
    reported: list[ErrorCode] = []
    world.append(batch_of(b"x"), reported.append)
    world.clock.run_tick()
    assert reported == []
    world.tick()
    assert reported == [ErrorCode.NONE]
    synced = [path for kind, path in world.fs.history if kind in ("sync", "sync_dir")]
    folder = f"{DATA}/{TOPIC}-0"
    files = [f"{folder}/partition.metadata", f"{folder}/leader-epoch-checkpoint", f"{DATA}/log-manifest"]
    assert synced[-6:] == [*files, f"{folder}/{0:020d}.log", folder, DATA]
    for _ in range(10):
        world.produce(b"x")
    assert syncs(world) == 1


def test_what_was_refused_because_names_could_not_be_synced_is_not_back_at_the_next_start() -> None:
    """A coordinator would otherwise find the operation that it refused, before later ones."""
    world = LogWorld()
    planned = OSError("planned")
    world.fs.fail = lambda kind, path: planned if kind == "sync" and path.endswith("partition.metadata") else None
    reported: list[ErrorCode] = []
    world.append(batch_of(b"x"), reported.append)
    world.tick()
    assert reported == [ErrorCode.KAFKA_STORAGE_ERROR]
    world.fs.fail = None
    world.restart(clean=False)
    assert world.log.log_end_offset == 0
    world.produce(b"y")
    assert values_of(read_all(world.log)) == [b"y"]


def test_an_append_counts_only_after_its_sync(world: LogWorld) -> None:
    reported: list[ErrorCode] = []
    world.append(batch_of(b"x"), reported.append)
    world.clock.run_tick()
    assert (world.log.high_watermark, reported, syncs(world)) == (0, [], 0)
    assert world.log.read(0, 100, upto=1) == (b"", ())
    world.clock.run_tick()
    assert (world.log.high_watermark, reported, syncs(world)) == (1, [ErrorCode.NONE], 1)


def test_what_is_written_during_a_sync_shares_the_next_one(world: LogWorld) -> None:
    """One fsync serves all waiting requests (group commit)."""
    world.produce(b"first")
    before = syncs(world)
    reported: list[int] = []
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    for at in range(5):
        world.append(batch_of(b"%d" % at), lambda _error, at=at: reported.append(at))  # type: ignore[misc]
        world.tick()
    assert len(held) == 1
    held.pop()()
    assert (reported, len(held)) == ([0], 1)
    held.pop()()
    assert reported == [0, 1, 2, 3, 4]
    assert syncs(world) == before + 2


class Logs:
    def __init__(self, count: int) -> None:
        self.world = LogWorld(flush_every_message=True)
        self.world.topics.images["many"] = TopicImage("many", bytes(16), count)
        self.logs = [self.world.logs.get("many", partition) for partition in range(count)]
        self.answered: list[int] = []
        for at in range(count):
            self.append(at)
        self.world.tick()  # their names are there
        self.answered.clear()
        self.held: list[Callable[[], None]] = []
        self.world.fs.held_syncs = self.held

    def append(self, at: int) -> None:
        self.logs[at].append(
            batch_of(b"x"),
            origin=Origin.CLIENT,
            now_wall_ms=self.world.clock.wall_ms(),
            on_durable=lambda _error: self.answered.append(at),
        )

    def append_to_all(self) -> None:
        for at in range(len(self.logs)):
            self.append(at)
        self.world.tick()


def test_as_many_syncs_are_under_way_as_logs_wait_and_each_answers_by_itself() -> None:
    many = Logs(20)
    many.append_to_all()
    assert len(many.held) == 20
    many.held.pop(7)()
    assert many.answered == [7]
    many.held.pop(0)()
    assert many.answered == [7, 0]
    many.append_to_all()
    assert len(many.held) == 18 + 2, "of the two that have none under way"
    many.held.pop(0)()
    assert (many.answered, len(many.held)) == ([7, 0, 1], 20), "its end starts that log's next one"


def test_a_log_whose_sync_takes_long_keeps_no_other_waiting() -> None:
    many = Logs(3)
    many.append(0)
    many.world.tick()
    slow = many.held.pop()
    for _ in range(5):
        many.append(1)
        many.append(0)
        many.world.tick()
        many.held.pop()()
    assert many.answered == [1] * 5
    slow()
    many.held.pop()()
    assert (many.answered, many.held) == ([1] * 5 + [0] * 6, [])


def test_names_that_several_logs_need_are_synced_once_for_all() -> None:
    """A folder's error is reported to all logs: the kernel returns it only once, and a second sync would seem to
    succeed.
    """
    world = LogWorld(flush_every_message=True)
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    for partition in (0, 1):
        world.logs.get(TOPIC, partition).append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    world.tick()
    assert len(held) == 1


def test_flush_messages_of_a_topic() -> None:
    world = LogWorld(LogSettings(flush_messages=3))
    world.produce(b"first")
    reported: list[ErrorCode] = []
    for _ in range(2):
        world.append(batch_of(b"x"), reported.append)
        world.clock.run_tick()
    assert (len(reported), syncs(world)) == (2, 1)
    world.append(batch_of(b"x"), reported.append)
    world.clock.run_tick()
    assert len(reported) == 2
    world.tick()
    assert (len(reported), syncs(world)) == (3, 2)


def test_appends_are_notified_in_order_even_when_only_some_of_them_wait_for_a_sync() -> None:
    world = LogWorld(LogSettings(flush_messages=2))
    world.produce(b"first")
    reported: list[int] = []
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held

    def append(at: int) -> None:
        world.append(batch_of(b"x"), lambda _error: reported.append(at))
        world.tick()

    for at in range(3):
        append(at)
    assert reported == [0]  # 1 is being synced, 2 waits for the next sync
    held.pop()()
    append(3)  # the first since that sync: by itself it need not wait
    assert reported == [0, 1]
    while held:
        held.pop()()
    assert reported == [0, 1, 2, 3]


def test_a_failed_sync_takes_the_log_offline_until_the_next_start(world: LogWorld) -> None:
    """The kernel may have dropped the data, so the success of a retry would be false."""
    world.produce(b"kept")
    reported: list[ErrorCode] = []
    fail(world, "sync")
    world.append(batch_of(b"unknown"), reported.append)
    world.clock.run_tick()
    world.append(batch_of(b"buffered"), reported.append)
    world.tick()
    world.fs.fail = None
    assert reported == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert world.append(batch_of(b"x"), reported.append) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.log.high_watermark == 1
    world.restart(clean=False)
    assert values_of(read_all(world.log))[0] == b"kept"
    assert isinstance(world.append(batch_of(b"x")), AppendInfo)


def test_a_write_that_fails_while_an_earlier_one_is_being_synced_is_reported_after_it(world: LogWorld) -> None:
    """A state that is rebuilt after the failure then finds everything before it durable."""
    world.produce(b"x")
    events: list[tuple[str, ErrorCode, int]] = []

    def note(name: str, error: ErrorCode) -> None:
        events.append((name, error, world.log.high_watermark))

    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    world.append(batch_of(b"a"), lambda error: note("a", error))
    world.tick()  # written, being synced
    world.append(batch_of(b"b"), lambda error: note("b", error))
    fail(world, "write")
    world.tick()
    assert events == [("a", ErrorCode.NONE, 2), ("b", ErrorCode.KAFKA_STORAGE_ERROR, 2)]
    world.fs.fail = world.fs.held_syncs = None
    held.pop()()
    assert world.produce(b"c").base_offset == 2
    assert world.log.high_watermark == 3


def test_the_end_of_an_abandoned_sync_does_not_end_the_next_one(world: LogWorld) -> None:
    """A later append had failed, so all that the abandoned sync was for was synced at once."""
    failing, other = world.logs.get(TOPIC, 0), world.logs.get(TOPIC, 1)
    reported: dict[PartitionLog, list[ErrorCode]] = {failing: [], other: []}
    now = world.clock.wall_ms()

    def append(log: PartitionLog) -> None:
        log.append(batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=now, on_durable=reported[log].append)

    append(failing)
    append(other)
    world.tick()  # names and folders are there
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    append(failing)
    world.tick()
    append(failing)
    append(other)
    fail(world, "write", path=failing.folder)
    world.tick()
    assert reported == {failing: [NONE, NONE, FAILED], other: [NONE]}
    world.fs.fail = None
    held.pop(0)()
    assert reported[other] == [NONE]  # its own sync has not ended
    while held:
        held.pop(0)()
    assert reported[other] == [NONE, NONE]


def test_closing_answers_what_is_buffered() -> None:
    for flush_every_message in (False, True):
        world = LogWorld(flush_every_message=flush_every_message)
        reported: list[ErrorCode] = []
        world.append(batch_of(b"a"), reported.append)
        world.clock.run_tick()
        world.append(batch_of(b"b"), reported.append)
        world.logs.close(clean=True)
        assert reported == [ErrorCode.NONE] * 2
        world.tick()
        world.start()
        assert values_of(read_all(world.log)) == [b"a", b"b"]


def test_a_segment_is_on_stable_storage_before_the_next_one_exists() -> None:
    """A power cut must not leave a torn segment before sound ones, which stops the next start."""
    world = LogWorld(LogSettings(segment_bytes=2 * SIZE), flush_every_message=True)
    for at in range(12):
        world.append(batch_of(b"%d" % (at % 10)))
        if at % 3:
            world.clock.run_tick()  # syncs of earlier ticks are still under way when a segment is full
    world.tick()
    synced_bytes: dict[str, bool] = {}
    for kind, path in world.fs.history:
        if not path.endswith(".log"):
            continue
        if kind == "create":
            assert all(synced_bytes.values())
        synced_bytes[path] = kind != "write"
    assert len(synced_bytes) == 6


def test_what_a_failed_sync_has_lost_is_not_taken_from_the_page_cache_at_the_next_start(world: LogWorld) -> None:
    """The kernel marks dropped pages as clean, so a later sync would not write them either."""
    world.fs.drops_failed_syncs = True
    world.produce(b"kept")
    reported: list[ErrorCode] = []
    fail(world, "sync")
    world.append(batch_of(b"lost"), reported.append)
    world.tick()
    world.fs.fail = None
    assert reported == [ErrorCode.KAFKA_STORAGE_ERROR]
    world.restart(clean=False)
    assert world.produce(b"next").base_offset == 1
    world.clock.advance(2_000)
    world.crash(CrashModel.POWER_LOSS)
    world.start()
    assert values_of(read_all(world.log)) == [b"kept", b"next"]


def test_a_sync_behind_one_that_failed_promises_nothing(world: LogWorld) -> None:
    world.produce(b"a")
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    world.append(batch_of(b"b"))
    world.tick()  # being synced
    world.append(batch_of(b"c"))
    world.tick()  # written, and waits for the next sync
    fail(world, "sync")
    held.pop()()
    world.fs.fail = world.fs.held_syncs = None
    while held:
        held.pop()()
    world.tick()
    assert world.log.refusal is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.log.manifest_row().synced == 1


def test_a_failed_sync_of_a_log_that_failed_to_write_keeps_what_was_synced(world: LogWorld) -> None:
    world.produce(b"kept")
    world.fs.held_syncs = []
    world.append(batch_of(b"a"))
    world.tick()

    def no_writes_and_no_syncs(kind: str, path: str) -> OSError | None:
        return OSError(errno.EIO, "planned", path) if kind in ("write", "sync") else None

    world.append(batch_of(b"b"), lambda _error: None)
    world.fs.fail = no_writes_and_no_syncs
    world.tick()
    world.fs.fail = world.fs.held_syncs = None
    assert world.log.refusal is ErrorCode.KAFKA_STORAGE_ERROR
    world.restart(clean=False)
    assert values_of(read_all(world.log)) == [b"kept"]


def test_nothing_is_promised_in_a_file_whose_name_is_not_synced() -> None:
    """A power loss removes even a synced segment whose name is not durable."""
    size = len(batch_of(b"0"))
    world = LogWorld(LogSettings(segment_bytes=2 * size), flush_every_message=True)
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    world.append(batch_of(b"0"))
    world.clock.run_tick()  # the names are being synced
    for at in range(1, 4):
        world.append(batch_of(b"%d" % at))
    world.clock.run_tick()
    assert world.log.manifest_row().synced == 0
    while held:
        held.pop(0)()
        world.clock.run_tick()
    assert world.log.manifest_row().synced == 4


def test_a_start_makes_it_durable_that_a_failed_sync_left_nothing() -> None:
    """The truncation is synced: otherwise the removed data would return after a power loss."""
    world = LogWorld(LogSettings(flush_messages=1))
    reported: list[ErrorCode] = []
    world.append(batch_of(b"refused"), reported.append)
    fail(world, "sync")
    world.tick()
    world.fs.fail = None
    assert (reported, len(world.fs.content(LOG_FILE))) == ([ErrorCode.KAFKA_STORAGE_ERROR], 0)
    before = len(world.fs.history)
    world.restart()
    assert ("sync", LOG_FILE) in world.fs.history[before:]


def test_an_error_of_one_file_takes_that_log_alone_offline(world: LogWorld) -> None:
    logs = [world.logs.get(TOPIC, partition) for partition in range(3)]
    reported: dict[int, list[ErrorCode]] = {0: [], 1: [], 2: []}

    def append_to_all() -> None:
        for at, log in enumerate(logs):
            log.append(
                batch_of(b"x"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms(), on_durable=reported[at].append
            )
        world.tick()

    append_to_all()

    def one_file(kind: str, path: str) -> OSError | None:
        return OSError(errno.EIO, "planned", path) if kind == "sync" and path.startswith(logs[1].folder) else None

    world.fs.fail = one_file
    append_to_all()
    assert reported == {0: [NONE, NONE], 1: [NONE, FAILED], 2: [NONE, NONE]}
    assert [log.refusal for log in logs] == [NONE, FAILED, NONE]


def test_a_topic_that_is_deleted_while_its_names_are_synced_takes_nobody_with_it() -> None:
    """Other topics continue although syncing the deleted topic's renamed folder fails."""
    world = LogWorld()
    other = TopicImage("other", bytes(16), 1)
    world.topics.images["other"] = other
    reported: list[ErrorCode] = []
    held: list[Callable[[], None]] = []
    world.fs.held_syncs = held
    world.logs.get("other", 0).append(batch_of(b"y"), origin=Origin.CLIENT, now_wall_ms=world.clock.wall_ms())
    world.append(batch_of(b"x"), reported.append)
    world.clock.run_tick()
    world.topics.delete("other")
    world.logs.delete_topic("other", other.topic_id)
    world.fs.held_syncs = None
    held.pop()()
    world.tick()
    assert reported == [NONE]
    assert world.produce(b"z").base_offset == 1
