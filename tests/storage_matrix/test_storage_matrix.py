"""A fixed part of the matrix, and proof that it notices faults. The whole matrix: `make storage-matrix`."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator

import pytest

from shareq.broker.log.manager import LogManager
from shareq.broker.log.opening.start_files import StartFiles
from shareq.broker.log.promises.promise import NOTHING_KNOWN
from shareq.broker.log.recovery import recover as recovery
from shareq.broker.log.segments import segment_list
from shareq.broker.log.segments.damage import DamagedRange
from shareq.broker.log.segments.segment import BatchWalk
from tests.storage_matrix.cell import Verdict
from tests.storage_matrix.document import document
from tests.storage_matrix.judge import Allowed, Red, Waiver, judge
from tests.storage_matrix.kinds import NEVER_DAMAGED, OF_A_PARTITION, OF_THE_FOLDER, UnknownFile, suffix_of, targets
from tests.storage_matrix.life import Stop, Templates, make_templates
from tests.storage_matrix.matrix import MEMORY, Result, Row, rows, run_row, sound_facts
from tests.storage_matrix.pairs import Pair, pairs, run_pair

FEW = 15  # every so manyeth damage of each file


@pytest.fixture(scope="module")
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        yield folder


@pytest.fixture(scope="module")
def templates(folder: str) -> Templates:
    return make_templates(f"{folder}/life")


@pytest.fixture
def results_of(folder: str, templates: Templates) -> Callable[..., list[Result]]:
    def run(row: Row, few: int = 0) -> list[Result]:
        sound = sound_facts(row, f"{folder}/sound")
        return run_row(row, templates, f"{folder}/work", sound, few=few)

    return run


def row_of(templates: Templates, kind: str, stop: Stop) -> Row:
    return next(row for row in rows(templates) if row.target.kind == kind and row.stop is stop)


def red(results: list[Result]) -> list[str]:
    return [result.text for result in results if result.verdict is Verdict.RED]


def test_a_part_of_the_matrix(templates: Templates, results_of: Callable[..., list[Result]]) -> None:
    results = [result for row in rows(templates) for result in results_of(row, FEW)]
    assert red(results) == []
    assert len(results) > 110
    assert {result.stop for result in results} == {stop.value for stop in Stop}
    assert "0 RED" in document(results, [])


PAIRS = (
    Pair(Stop.CLEAN, ("meta.db", "metadata.journal"), ("zeroed", "zeroed")),
    Pair(Stop.POWER, ("log-manifest", "log-start-offset-checkpoint"), ("missing", "zeroed")),
)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_command_in_a_refusal_repairs_what_two_damaged_files_have_done(
    pair: Pair, folder: str, templates: Templates
) -> None:
    assert pair in pairs(templates)
    result = run_pair(pair, templates, f"{folder}/pair")
    assert result.verdict is Verdict.REPAIRED_WITHOUT_WHAT_WAS_HIT, result.text
    assert result.command in ("shareq verify DATA --repair --adopt all", "shareq verify DATA --repair")
    assert result.reported in result.text
    assert f"* **repair, reported**: {' and '.join(pair.files)}\n" in document([], [result])


def test_every_kind_of_file_is_met(templates: Templates) -> None:
    data_folders = {*templates.ended.values(), *templates.moments.values()}
    names = {name for data in data_folders for name in os.listdir(data)}
    assert names >= set(OF_THE_FOLDER)
    folders = [f"{data}/{name}" for data in data_folders for name in os.listdir(data) if name not in NEVER_DAMAGED]
    files = {suffix_of(name) for each in folders if os.path.isdir(each) for name in os.listdir(each)}
    assert files >= set(OF_A_PARTITION)


@pytest.mark.parametrize("path", ["new-file", "orders-0/new-file", "orders-0/00000000000000000001.new", "folder/x"])
def test_a_file_of_an_unknown_kind_is_an_error(path: str, templates: Templates) -> None:
    data = templates.ended[Stop.CLEAN]
    os.makedirs(os.path.dirname(f"{data}/{path}"), exist_ok=True)
    with open(f"{data}/{path}", "wb"):
        pass
    try:
        with pytest.raises(UnknownFile):
            targets(data)
    finally:
        os.remove(f"{data}/{path}")
        if path.startswith("folder/"):
            os.rmdir(f"{data}/folder")


def forget_missing_folders(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogManager, "_miss_folders", lambda *_: None)


def log_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(logging.Logger, "error", lambda *_: None)


def cut_at_damage(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "SoundWalk", _TimidWalk)


def break_with_a_traceback(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "described", lambda _: 1 / 0)


def believe_in_an_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(segment_list, "miss_the_end", lambda _: False)
    patch.setattr(StartFiles, "promise_of", lambda *_, **__: NOTHING_KNOWN)


class _TimidWalk(BatchWalk):
    """An earlier walk over batches, which ends at the first damage."""

    damaged: tuple[DamagedRange, ...] = ()

    def __init__(self, first: BatchWalk) -> None:
        super().__init__(
            first.read_at,
            first.size,
            position=first.position,
            next_offset=first.next_offset,
            gaps=first.gaps,
            limit=first.limit,
        )


@pytest.mark.parametrize(
    ("mistake", "kind", "stop", "few"),
    [
        (forget_missing_folders, "a topic: whole folder", Stop.KILL, 0),
        (log_nothing, "a topic: .log, active segment", Stop.KILL, 3),
        (cut_at_damage, "a topic: .log, active segment", Stop.KILL, 3),
        (break_with_a_traceback, "a topic: .log, active segment", Stop.CLEAN, 3),
        (believe_in_an_end, "a topic: .log, middle segment", Stop.POWER, 3),
    ],
)
def test_a_mistake_makes_it_red(
    mistake: Callable[[pytest.MonkeyPatch], None],
    kind: str,
    stop: Stop,
    few: int,
    templates: Templates,
    results_of: Callable[..., list[Result]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = row_of(templates, kind, stop)
    assert red(results_of(row, few)) == []
    mistake(monkeypatch)
    assert red(results_of(row, few))


RECORD = "log orders-0 record 1"


END = {"log orders-0 end": "2"}


@pytest.mark.parametrize(
    "facts",
    [
        END,
        {**END, RECORD: "b'k' b'other'"},
        {**END, RECORD: "b'k' b'1'", "log orders-0 record 0": "b'k' b'0'"},
        {RECORD: "b'k' b'1'", "log orders-0 end": "1"},
    ],
)
def test_what_was_not_hit_must_stay(facts: dict[str, str]) -> None:
    with pytest.raises(Red):
        judge({**END, RECORD: "b'k' b'1'"}, facts, Allowed())


def test_what_is_waived_is_noted() -> None:
    allowed = Allowed(back={"log keyed-0 record 0": "b'k' b'0'"})
    sound = {"log keyed-0 end": "2"}
    assert judge(sound, {"log keyed-0 end": "3", "log keyed-0 record 0": "b'k' b'0'"}, allowed) == []
    assert allowed.waived == {Waiver.LATER_END, Waiver.CAME_BACK}
