"""Crashes at every disk operation of a redrive: no letter is lost or sent back twice."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from devtools.in_memory.mem_fs import CrashModel, SimulatedCrash
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import RecordData
from tests.simulation.planted_redrives import OF_CRASHES
from tests.support.planting import Fault
from tests.support.worlds.redrives import TOPIC, RedriveWorld, counts_of, kept, letter

LETTERS = 12
MODELS = pytest.mark.parametrize("model", list(CrashModel), ids=lambda model: model.name)
SYNCED = {"log.flush.interval.messages": "1"}


def queue_of_letters() -> RedriveWorld:
    """Return letters for 4 logs in 2 partitions of the queue, some not selected, some refused."""
    world = RedriveWorld(3, 2, SYNCED, max_message_bytes="2000")
    world.world.create_topic("u")
    for partition in range(2):
        letters = [
            letter(
                b"%d" % (partition * LETTERS + number),
                number,
                partition=number % 3,
                topic="u" if number % 7 == 0 else TOPIC,
            )
            for number in range(LETTERS)
        ]
        letters[5] = letter(b"not meant", 5, group="h")
        letters[9] = letter(b"x" * 3_000, 9)
        letters[10] = kept(b"%d" % (partition * LETTERS + 10), 10)
        world.bury(*letters[:8], partition=partition)
        world.bury(*letters[8:], partition=partition)
    return world


EXPECTED = {
    b"%d" % (partition * LETTERS + number)
    for partition in range(2)
    for number in range(LETTERS)
    if number not in (5, 9)
}
COUNTS = {"REDRIVEN": 2 * LETTERS - 4, "FILTERED": 2, "REFUSED": 2}


def run(world: RedriveWorld) -> None:
    """Run to the end; SimulatedCrash if it crashes."""
    error = world.start(group_id="g", records_per_second=60)
    assert error in (ErrorCode.NONE, ErrorCode.DUPLICATE_RESOURCE), error
    world.finish()


def sent(world: RedriveWorld) -> Counter[bytes | None]:
    logs = [world.records("u"), *(world.records(partition=partition) for partition in range(3))]
    return Counter(record.value for log in logs for record in log)


def assert_each_once(world: RedriveWorld, note: object) -> None:
    found = sent(world)
    assert {value: times for value, times in found.items() if times > 1} == {}, note
    assert found.keys() == EXPECTED, note
    assert counts_of(world.describe()) == COUNTS, note


def steps_of_a_run() -> int:
    world = queue_of_letters()
    before = world.world.fs.steps
    run(world)
    assert_each_once(world, "without a crash")
    return world.world.fs.steps - before


@MODELS
def test_a_crash_at_every_disk_operation(model: CrashModel) -> None:
    steps = steps_of_a_run()
    assert steps > 80
    for step in range(1, steps + 1):
        world = queue_of_letters()
        world.world.fs.crash_at = world.world.fs.steps + step
        with pytest.raises(SimulatedCrash):
            run(world)
        world.world.crash(model)
        run(world)
        assert_each_once(world, step)


def crash_again_and_again(model: CrashModel, seed: int) -> RedriveWorld:
    """Run to the end, with crashes every few disk operations.

    Crashes also hit starts, and the search for letters that may have been sent.
    """
    rng = Random(seed)
    world = queue_of_letters()
    crashes = 0
    while True:
        world.world.fs.crash_at = world.world.fs.steps + rng.randint(1, 12 + crashes)
        try:
            run(world)
        except SimulatedCrash:
            crashes += 1
            world.world.crash(model)
        else:
            break
    world.world.fs.crash_at = None
    assert crashes > 2
    return world


@MODELS
@pytest.mark.parametrize("seed", range(4))
def test_one_crash_after_the_other(model: CrashModel, seed: int) -> None:
    assert_each_once(crash_again_and_again(model, seed), seed)


@pytest.mark.parametrize("seed", range(6))
def test_disk_errors_in_between(seed: int) -> None:
    """Appends and commits fail, with occasional crashes: the redrive retries, and sends nothing twice."""
    rng = Random(seed)
    world = queue_of_letters()
    fs = world.world.fs
    error = world.start(group_id="g", records_per_second=60)
    assert error is ErrorCode.NONE
    for _ in range(40):
        fs.fail = lambda kind, path: OSError(28, "no space") if rng.random() < 0.15 else None
        world.world.clock.advance(rng.randint(1, 400))
        fs.fail = None
        if rng.random() < 0.15:
            world.world.crash()
    world.world.crash()  # a log whose failed write could not be taken back is offline until then
    world.finish()
    assert_each_once(world, seed)


@MODELS
@pytest.mark.parametrize("seed", range(3))
def test_redrives_beside_each_other_and_beside_producers(model: CrashModel, seed: int) -> None:
    """One queue is redriven for two groups, while producers write to the same logs, also during downtime."""
    rng = Random(seed)
    world = RedriveWorld(2, 1, SYNCED)
    world.bury(
        *(letter(b"%d" % number, number, partition=number % 2, group="gh"[number % 3 == 0]) for number in range(60))
    )
    for name, group in (("first", "g"), ("second", "h")):
        assert world.start(name, group_id=group, records_per_second=40) is ErrorCode.NONE
    others = 0
    for _ in range(30):
        world.world.fs.crash_at = world.world.fs.steps + rng.randint(1, 60)
        try:
            world.world.clock.advance(rng.randint(1, 200))
            world.produce(TOPIC, RecordData(b"k", b"other"), partition=rng.randrange(2))
            others += 1
        except SimulatedCrash:
            world.world.crash(model)
        world.world.fs.crash_at = None
    for name in ("first", "second"):
        assert world.finish(name).state == "DONE"
    found = Counter(value for partition in range(2) for value in world.values(partition=partition))
    assert found.pop(b"other") >= others
    assert found == Counter(b"%d" % number for number in range(60))
    assert counts_of(world.describe("first")) == {"REDRIVEN": 40, "FILTERED": 20}


# -- planted faults: the tests above would notice


@pytest.mark.parametrize("fault", OF_CRASHES, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(fault: Fault) -> None:
    with fault():
        for seed in range(4):
            try:
                assert_each_once(crash_again_and_again(CrashModel.PROCESS_KILL, seed), seed)
            except AssertionError:
                return
    raise AssertionError("nothing was noticed")
