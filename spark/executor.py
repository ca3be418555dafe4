"""The executors' side: fetches the ranges of one partition, and turns them into Arrow. May be called repeatedly.

Spark keeps its Python workers between micro-batches, so a worker keeps its connections, too.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shareq.client.config import ClientConfig
from shareq.client.fetch import OffsetsGone, RangeFetcher, TopicGone
from shareq.spark.offsets import BatchRange, SharePartition
from shareq.spark.planning import TaskRanges, runs

if TYPE_CHECKING:
    import pyarrow

logger = logging.getLogger(__name__)

_fetchers: Final[dict[tuple[ClientConfig, int], RangeFetcher]] = {}  # by process, too: workers are forked


class DataLoss(Exception):
    """Records of a micro-batch that are no longer in the log. The message names them, and the remedy."""


def read(
    task: TaskRanges, client: ClientConfig, columns: Sequence[str], *, fail_on_data_loss: bool
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the data records of the ranges, in order, with these columns.

    Raises DataLoss when some were deleted; without `fail_on_data_loss` that is a warning. Raises what RangeFetcher
    raises.
    """
    fetcher = _fetchers.get((client, os.getpid()))
    if fetcher is None:
        fetcher = _fetchers[client, os.getpid()] = RangeFetcher(client)
    try:
        for run in runs(task.ranges):
            yield from _read_run(fetcher, task.key, run, columns, fail_on_data_loss)
    except BaseException:  # even a reader that was given up half way leaves an answer on the connection
        _fetchers.pop((client, os.getpid()), None)
        fetcher.close()
        raise


def _read_run(
    fetcher: RangeFetcher,
    key: SharePartition,
    run: Sequence[BatchRange],
    columns: Sequence[str],
    fail_on_data_loss: bool,
) -> Iterator[pyarrow.RecordBatch]:
    from shareq.spark.decode.arrow import decode  # pyarrow and numpy, which the planner does not need

    left = list(run)
    while left:
        try:
            for fetched in fetcher.fetch(key.topic_id, key.topic, key.partition, left[0].first, left[-1].last):
                yield from decode(fetched.data, left, columns, topic=key.topic, partition=key.partition)
            return
        except TopicGone as error:
            _lost(key, left, f"the topic was deleted ({error})", fail_on_data_loss)
            return
        except OffsetsGone as error:
            if error.log_start <= error.offset < error.log_end:
                raise  # there it is: not gone
            _lost(key, left, f"the log has {error.log_start} to {error.log_end - 1} now", fail_on_data_loss)
            left = [
                BatchRange(max(first, error.log_start), last, count)
                for first, last, count in left
                if error.log_start <= last and error.offset < error.log_start
            ]  # what was read before the log start moved lies below it; beyond the end of the log nothing is left


def _lost(key: SharePartition, ranges: Sequence[BatchRange], what: str, fail_on_data_loss: bool) -> None:
    text = (
        f"{key.topic}-{key.partition}: offsets {ranges[0].first} to {ranges[-1].last} belong to a micro-batch, "
        f"and some of their records are gone: {what}"
    )
    if fail_on_data_loss:
        raise DataLoss(f"{text}. Option failOnDataLoss=false goes on without them")
    logger.warning("%s; failOnDataLoss=false goes on without them", text)
