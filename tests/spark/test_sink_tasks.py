"""Tasks of the sink and their commit, stopped between any two steps and run again; needs no session."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from devtools.clients.admin import create_topic
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.spark.support.judge import seen
from tests.support.waiting import until

ROWS = [["a0", "a1"], ["b0"], [], ["c0", "c1", "c2"]]
"""The rows of four tasks."""


class Crash(Exception):
    pass


def batch(values: list[str]) -> list[pa.RecordBatch]:
    return [pa.record_batch({"value": pa.array(values, pa.string())})]


class Scene:
    def __init__(self, bootstrap: str, topic: str) -> None:
        from shareq.spark.sink.options import SinkOptions

        self.bootstrap, self.topic = bootstrap, topic
        self.options = SinkOptions.parse(
            {"kafka.bootstrap.servers": bootstrap, "topic": topic, "kafka.default.api.timeout.ms": "20000"},
            streaming=True,
        )

    def run(self, number: int, rows: list[list[str]], stop_after: int | None = None) -> None:
        """Write and commit a batch; after so many ended transactions stop, as if the driver were killed."""
        from shareq.client import transactions
        from shareq.spark.sink import task

        version = task.Version(self.topic, number)
        parts = [task.write(batch(values), self.options, version, at) for at, values in enumerate(rows)]
        ended = 0
        end = transactions.end

        def counted(*arguments: object, **named: object) -> None:
            nonlocal ended
            if ended == stop_after:
                raise Crash
            end(*arguments, **named)  # type: ignore[arg-type]
            ended += 1

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(transactions, "end", counted)
            task.commit(self.options, version, parts)

    def values(self) -> list[str]:
        return sorted((each.value or b"").decode() for each in seen(self.bootstrap, self.topic))

    def has(self, expected: list[str]) -> None:
        """Wait until a consumer sees these values: a commit is answered before its markers are in all partitions."""
        until(lambda: self.values() == sorted(expected))


@pytest.fixture
def scene(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Scene:
    topic = unique("tasks")
    create_topic(broker.bootstrap, topic, 3)
    return Scene(broker.bootstrap, topic)


ALL = sorted(value for values in ROWS for value in values)


@pytest.mark.parametrize("stop_after", range(4))
def test_a_batch_that_was_committed_in_part_is_completed_and_nothing_of_it_is_twice(
    scene: Scene, stop_after: int
) -> None:
    """The run stops before the driver's mark, after it, and after each task but the last."""
    scene.run(6, [["before"], [], [], []])
    with pytest.raises(Crash):
        scene.run(7, ROWS, stop_after)
    scene.has(["before", *[[], [], ROWS[0], ROWS[0] + ROWS[1]][stop_after]])
    for _ in range(2):
        scene.run(7, ROWS)
        scene.has([*ALL, "before"])
    scene.run(8, [["after"]])
    scene.has([*ALL, "after", "before"])


@pytest.mark.parametrize(
    "others",
    [
        [["b0"], ["a0", "a1"], [], ["c0", "c1", "c2"]],
        [["a0", "a1"], ["b0", "c0", "c1", "c2"]],
        [[], [], [], ["a0", "a1", "b0", "c0", "c1", "c2"]],
        [["a0", "a1"], ["b0"], [], ["c0", "c1", "c3"]],
        [["a0", "a1"], ["b0"], [], ["c0", "c1", "c2"], []],
    ],
)
def test_a_batch_that_comes_again_with_other_tasks_is_refused_before_more_of_it_is_committed(
    scene: Scene, others: list[list[str]]
) -> None:
    from shareq.spark.sink.task import AnotherBatch

    with pytest.raises(Crash):
        scene.run(7, ROWS, 2)
    scene.has(["a0", "a1"])
    for _ in range(2):
        with pytest.raises(AnotherBatch, match="began to commit batch 7 with other rows"):
            scene.run(7, others)
        scene.has(["a0", "a1"])
    scene.run(7, ROWS)
    scene.has(ALL)


def test_before_the_drivers_mark_a_batch_may_come_again_otherwise(scene: Scene) -> None:
    with pytest.raises(Crash):
        scene.run(7, ROWS, 0)
    scene.run(7, [["a0"], ["c0"], ["a1", "b0"], ["c1", "c2"]])  # a task that is gone would leave its transaction open
    scene.has(ALL)


def test_order_within_a_task_does_not_matter(scene: Scene) -> None:
    scene.run(7, ROWS)
    scene.run(7, [list(reversed(values)) for values in ROWS])
    scene.has(ALL)


def test_a_driver_that_was_replaced_commits_nothing(scene: Scene) -> None:
    from shareq.spark.sink import task

    version = task.Version(scene.topic, 7)
    parts = [task.write(batch(values), scene.options, version, at) for at, values in enumerate(ROWS)]
    again = [task.write(batch(values), scene.options, version, at) for at, values in enumerate(ROWS)]
    with pytest.raises(task.NotCommitted, match=r"could not be committed .* another query has the same name"):
        task.commit(scene.options, version, parts)
    assert scene.values() == []
    task.commit(scene.options, version, again)
    scene.has(ALL)


def test_an_older_checkpoint_is_refused(scene: Scene) -> None:
    from shareq.spark.sink.task import AnotherBatch

    scene.run(7, ROWS)
    with pytest.raises(AnotherBatch, match="has committed batch 7 and is to write batch 6"):
        scene.run(6, ROWS)
    scene.has(ALL)
