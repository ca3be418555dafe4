"""Commands that create a data folder, interrupted at each step: the folder is marked unfinished and created again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel, MemFs, SimulatedCrash
from shareq.broker.data_folder.comparison import CLUSTER_ID
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.data_folder.opening import open_data_folder
from shareq.broker.data_folder.ownership import DataFolderError, look_at_folder
from shareq.broker.data_folder.sqlite_record import SqliteRecord
from shareq.broker.data_folder.unfinished import UNFINISHED_FILE
from shareq.broker.foundation.os_fs import OsFs
from shareq.broker.log.manager import LOCK_FILE
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, format_offsets, format_partition_metadata
from shareq.broker.log.segments.segment import LOG_SUFFIX, file_name
from shareq.broker.maintenance.backup.catalog import Catalog, Entry
from shareq.broker.maintenance.backup.metadata import CopiedMetadata, copy_metadata
from shareq.broker.maintenance.backup.restore import restore_backup
from shareq.broker.maintenance.backup.store import BackupStore
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.neighbour.hand_over import BOOTSTRAP_FILE, FIRST_SNAPSHOT, hand_over
from shareq.broker.maintenance.neighbour.take_over import take_over
from shareq.broker.maintenance.progress import Progress
from shareq.broker.maintenance.repair.apply import Choices
from shareq.broker.maintenance.verify_command import verify
from shareq.broker.metadata.changes import MetaState, PutMeta, PutTopic, TopicRow
from shareq.protocol.records.batch import RecordData, build_batch
from tests.support.worlds.folder_on_disk import CLUSTER, ORDERS, PAYMENTS, plain

DATA = "data"
KAFKA = "kafka"
BOTH = [CrashModel.PROCESS_KILL, CrashModel.POWER_LOSS]
META = f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n".encode()


class ForgetfulFs(MemFs):
    loses_pages = True
    page_bytes = 16


def in_memory(seed: int) -> MemFs:
    return ForgetfulFs(lambda call: call(), Random(seed))


def quiet() -> Progress:
    return Progress("test", lambda: 0.0, lambda _: None)


def contents() -> dict[str, bytes]:
    """Return the files of a cluster of two topics; the file that makes it a data folder comes last."""
    state = MetaState()
    state.apply(PutMeta(CLUSTER_ID, CLUSTER))
    state.apply(PutTopic(TopicRow("orders", ORDERS, 2, internal=False)))
    state.apply(PutTopic(TopicRow("payments", PAYMENTS, 1, internal=False)))
    files: dict[str, bytes] = {}
    for folder, topic_id in (("orders-0", ORDERS), ("orders-1", ORDERS), ("payments-0", PAYMENTS)):
        files[f"{folder}/partition.metadata"] = format_partition_metadata(topic_id)
        files[f"{folder}/{file_name(0, LOG_SUFFIX)}"] = bytes(plain(0) + plain(3))
        files[f"{folder}/{file_name(6, LOG_SUFFIX)}"] = bytes(plain(6))
    files[LOG_START_FILE] = format_offsets({})
    return files | CopiedMetadata(CLUSTER, state, 1, digest_of(state)).files()


def backup_in(dest: Path, files: dict[str, bytes], name: str = "b1") -> str:
    store = BackupStore.for_cluster(str(dest), CLUSTER)
    entries = [Entry(path, len(content), key := store.put([content]), key) for path, content in files.items()]
    store.commit(name, Catalog(CLUSTER, 1, "test", tuple(entries)))
    return str(dest)


def files_in(fs: MemFs, folder: str) -> dict[str, bytes]:
    inside = [path for path in fs.paths() if path.startswith(f"{folder}/")]
    return {path.partition("/")[2]: bytes(fs.content(path)) for path in inside if not path.endswith(f"/{LOCK_FILE}")}


def restore_into(fs: MemFs, dest: str, name: str | None = None) -> Callable[[], object]:
    return lambda: restore_backup(fs, dest, DATA, name=name, progress=quiet())


def state_of(fs: MemFs) -> str:
    """Return how a start treats the folder: its refusal, "can be repaired", "empty" or "taken"."""
    try:
        return "empty" if look_at_folder(fs, DATA).fresh else "taken"
    except DataFolderError as error:
        return "can be repaired" if error.has_repair else str(error)


def cut_short(fs: MemFs, step: int, model: CrashModel, work: Callable[[], object]) -> bool:
    """Run up to that step, and end the process or lose power there. Return False if the work ended before."""
    fs.crash_at = fs.steps + step
    try:
        work()
    except SimulatedCrash:
        fs.crash(model, Random(step))
        return True
    fs.crash_at = None
    return False


def each_step(work: Callable[[MemFs], object], model: CrashModel, check: Callable[[MemFs], object]) -> int:
    step = 1
    while True:
        fs = in_memory(step)
        if not cut_short(fs, step, model, partial(work, fs)):
            return step - 1
        check(fs)
        step += 1


@pytest.fixture(scope="module")
def dest(tmp_path_factory: pytest.TempPathFactory) -> str:
    return backup_in(tmp_path_factory.mktemp("restore") / "b", contents())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory, dest: str) -> str:
    path = tmp_path_factory.mktemp("ours") / "data"
    restore_backup(OsFs(lambda call: call()), dest, str(path), name=None, progress=quiet())
    return str(path)


@pytest.mark.parametrize("model", BOTH)
def test_a_restore_cut_short_at_any_step_is_known_as_unfinished_and_made_again(dest: str, model: CrashModel) -> None:
    def restore(fs: MemFs) -> None:
        restore_backup(fs, dest, DATA, name=None, progress=quiet())

    def check(fs: MemFs) -> None:
        state, found = state_of(fs), files_in(fs, DATA)
        if state == "empty":
            assert not found.keys() & expected.keys()
        elif state == "taken":
            assert found == expected
        else:
            assert f"data folder {DATA} is unfinished: shareq restore was cut short; run shareq restore again" in state
            assert f"{dest} " in state
            refused.append(state)
        if state != "taken":
            restore(fs)
        assert files_in(fs, DATA) == expected

    expected, refused = contents(), list[str]()
    steps = each_step(restore, model, check)
    assert steps > 50
    assert len(refused) > steps - 12, "but for the steps before the first byte, and the last"


@pytest.mark.parametrize("model", BOTH)
def test_a_restore_that_starts_over_may_be_cut_short_like_the_first(dest: str, model: CrashModel) -> None:
    expected = contents()
    for seed in range(100):
        rng, fs = Random(seed), in_memory(seed)
        for _ in range(4):
            step = rng.randint(1, 80)
            if not cut_short(fs, step, model, restore_into(fs, dest)):
                break
            if state_of(fs) == "taken":
                break
            assert state_of(fs) == "empty" or "shareq restore again" in state_of(fs)
        if state_of(fs) != "taken":
            restore_into(fs, dest)()
        assert files_in(fs, DATA) == expected


def test_nothing_is_in_the_folder_before_it_is_durably_known_as_unfinished(dest: str) -> None:
    fs = in_memory(0)
    restore_backup(fs, dest, "above/it/data", name=None, progress=quiet())
    made = [(kind, path) for kind, path in fs.history if not path.endswith(LOCK_FILE)]
    marked = made.index(("rename", f"above/it/data/{UNFINISHED_FILE}"))
    first = next(n for n, (kind, path) in enumerate(made) if kind == "create" and UNFINISHED_FILE not in path)
    assert ("sync_dir", "above/it/data") in made[marked:first]
    for above in (".", "above", "above/it"):
        assert ("sync_dir", above) in made[:first], "its name is durable, too"
    assert made[-2:] == [("remove", f"above/it/data/{UNFINISHED_FILE}"), ("sync_dir", "above/it/data")]


@pytest.mark.parametrize("error_at", [10, 20, 45])
def test_a_restore_that_an_error_ends_says_what_to_run(dest: str, error_at: int) -> None:
    fs = in_memory(0)
    fs.fail = lambda kind, path: OSError(28, "No space left on device", path) if fs.steps == error_at else None
    with pytest.raises(MaintenanceError, match=r"No space left .* is unfinished: .*; run shareq restore again"):
        restore_backup(fs, dest, DATA, name=None, progress=quiet())
    fs.fail = None
    assert "run shareq restore again" in state_of(fs)
    restore_backup(fs, dest, DATA, name=None, progress=quiet())
    assert files_in(fs, DATA) == contents()


def test_another_backup_takes_the_place_of_the_one_that_was_cut_short(tmp_path: Path) -> None:
    files = contents()
    dest = backup_in(tmp_path, files)
    fewer = {path: content for path, content in files.items() if not path.startswith("payments-0/")}
    backup_in(tmp_path, fewer, "b2")
    fs = in_memory(0)
    assert cut_short(fs, 60, CrashModel.PROCESS_KILL, restore_into(fs, dest, "b1"))
    assert "--backup b1" in state_of(fs)
    restore_backup(fs, dest, DATA, name="b2", progress=quiet())
    assert files_in(fs, DATA) == fewer


def test_what_no_command_makes_is_left_alone_in_an_unfinished_folder(dest: str) -> None:
    for path in ("notes.txt", "orders-0/notes.txt", "holiday/photo.jpg"):
        fs = in_memory(0)
        assert cut_short(fs, 40, CrashModel.PROCESS_KILL, restore_into(fs, dest))
        fs.make_dirs(f"{DATA}/{path}".rpartition("/")[0])
        fs.write_atomic(f"{DATA}/{path}", b"mine")
        before = files_in(fs, DATA)
        with pytest.raises(MaintenanceError, match=f"has {path.partition('/')[0]} in it, which no such command makes"):
            restore_backup(fs, dest, DATA, name=None, progress=quiet())
        assert files_in(fs, DATA) == before


def test_two_restores_at_once_do_not_mix(dest: str) -> None:
    fs = in_memory(0)
    fs.make_dirs(DATA)
    release = fs.lock(f"{DATA}/{LOCK_FILE}")
    with pytest.raises(MaintenanceError, match="another process is using it"):
        restore_backup(fs, dest, DATA, name=None, progress=quiet())
    release()
    restore_backup(fs, dest, DATA, name=None, progress=quiet())


@pytest.mark.parametrize("torn", [b"", b"[" * 100_000], ids=["empty", "nested too deep"])
def test_every_command_refuses_an_unfinished_folder_and_changes_nothing(tmp_path: Path, torn: bytes) -> None:
    """Options that allow repairing lost metadata do not change the refusal."""
    data = tmp_path / "data"
    data.mkdir()
    for path, content in contents().items():
        if "/" in path:
            (data / path).parent.mkdir(exist_ok=True)
            (data / path).write_bytes(content)
    (data / UNFINISHED_FILE).write_bytes(torn)
    before = sorted(path.name for path in data.rglob("*"))
    again = r"data is unfinished: shareq restore, or shareq import-logs, was cut short; run shareq restore, or"
    for choices in (None, Choices(adopt=frozenset(["all"])), Choices(set_aside=frozenset(["all"]))):
        with pytest.raises(MaintenanceError, match=again) as raised:
            verify(str(data), choices, lambda _: None, lambda _: None)
        assert raised.value.usage
    with pytest.raises(MaintenanceError, match=again):
        copy_metadata(str(data))
    with pytest.raises(MaintenanceError, match=again):
        hand_over(in_memory(0), str(data), KAFKA)
    database = SqliteRecord(str(tmp_path / "meta.db"), "x")
    with pytest.raises(DataFolderError, match=again):
        open_data_folder(OsFs(lambda call: call()), str(data), database, lambda: CLUSTER)
    database.close()
    assert sorted(path.name for path in data.rglob("*")) == before


# -- to and from Apache Kafka


def batch_of(value: bytes, offset: int) -> bytes:
    return bytes(build_batch([RecordData(None, value)], timestamp_ms=1, base_offset=offset, leader_epoch=0))


FEATURE = b"\x01\x0c\x00\x11metadata.version\x00\x1d\x00"
END = b"\x01\x63\x00\x00"  # of a type that is not applied


def formatted(fs: MemFs, checkpoint: str) -> dict[str, bytes]:
    """Return the files of a folder in the state that Kafka's tool leaves."""
    files = {"meta.properties": META, checkpoint: batch_of(FEATURE, 0) + batch_of(END, 1)}
    for path, content in files.items():
        folder = f"{KAFKA}/{path}".rpartition("/")[0]
        fs.make_dirs(folder)
        fs.write_atomic(f"{KAFKA}/{path}", content, sync=True)
    fs.sync_dir(KAFKA)
    fs.sync_dir(".")
    return files


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize("checkpoint", [BOOTSTRAP_FILE, FIRST_SNAPSHOT])
def test_kafka_starts_on_no_half_of_an_export_and_the_export_starts_over(
    ours: str, checkpoint: str, model: CrashModel
) -> None:
    whole = in_memory(0)
    before = formatted(whole, checkpoint)
    hand_over(whole, ours, KAFKA)
    expected = files_in(whole, KAFKA)
    assert len(expected) == len(before) + 3 * 3 + 1
    step = unfinished = 0
    while True:
        step, fs = step + 1, in_memory(step)
        formatted(fs, checkpoint)
        if not cut_short(fs, step, model, partial(hand_over, fs, ours, KAFKA)):
            break
        found = files_in(fs, KAFKA)
        if "meta.properties" not in found:
            unfinished += 1
            hand_over(fs, ours, KAFKA)
            assert files_in(fs, KAFKA) == expected
        elif found != before:
            assert {path: content for path, content in found.items() if not path.endswith(".formatted")} == expected
    assert unfinished > step - 8


@pytest.mark.parametrize("model", BOTH)
def test_an_import_cut_short_at_any_step_is_known_as_unfinished_and_made_again(
    ours: str, tmp_path: Path, model: CrashModel
) -> None:
    exported = in_memory(0)
    formatted(exported, FIRST_SNAPSHOT)
    hand_over(exported, ours, KAFKA)
    source = tmp_path / KAFKA
    for path, content in files_in(exported, KAFKA).items():
        (source / path).parent.mkdir(exist_ok=True, parents=True)
        (source / path).write_bytes(content)

    def take(fs: MemFs) -> None:
        take_over(fs, str(source), DATA, quiet())

    def check(fs: MemFs) -> None:
        state, found = state_of(fs), files_in(fs, DATA)
        if state == "empty":
            assert not found.keys() & expected.keys()
        elif state == "taken":
            assert found.keys() == expected.keys()
        else:
            assert "shareq import-logs was cut short; run shareq import-logs again, which starts it over" in state
            take(fs)
            found = files_in(fs, DATA)
        if state != "empty":
            assert found.keys() == expected.keys()
            assert all(found[path] == expected[path] for path in expected if path != "meta.db")

    whole = in_memory(0)
    take(whole)
    expected = files_in(whole, DATA)
    assert each_step(take, model, check) > 50
