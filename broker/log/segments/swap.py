"""The swap of old segments for a cleaned one, after which a crash leaves either all old ones or the new one.

    <base>.log.cleaned    being written; removed by a start
    <base>.log.swap       complete, on stable storage, and valid: a start puts it in its place
    <base>.txnindex.swap  its transaction index, written before `.log.swap`
    <base>.log.deleted    replaced; removed by a start

The names are Apache Kafka's. A `.swap` file replaces everything from its base offset to the offset behind its last
batch, which is why its last batch is kept even when it is empty. The old index files at its base offset are removed
before the swap is valid, so that no crash leaves an old index beside the new log. The replaced segments are removed,
durably, before the `.swap` file is renamed: otherwise a power loss could bring back an old segment with the same
offsets as the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.segments.damage import SoundWalk
from shareq.broker.log.segments.files import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    SWAP_SUFFIX,
    TRANSIENT_SUFFIXES,
    FilePool,
    Segment,
    remove_quietly,
)
from shareq.broker.log.segments.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    BatchWalk,
    file_name,
    offset_of_file,
)
from shareq.broker.log.segments.txn_index import TXN_INDEX_SUFFIX, AbortedTransaction, entries_to_bytes

logger = logging.getLogger(__name__)


def new_cleaned_segment(pool: FilePool, folder: str, base_offset: int, interval_bytes: int) -> Segment:
    """Return an empty `.cleaned` segment, which belongs to no log yet. Raise OSError if an old one exists and cannot
    be removed.
    """
    segment = Segment(pool, folder, base_offset, 0, interval_bytes, CLEANED_SUFFIX)
    _remove(pool.fs, segment.log_path)
    segment.set_map(segment.new_map(), proven=True)
    segment.gaps = True
    return segment


def discard(fs: Fs, segment: Segment) -> None:
    """Remove a segment that does not count yet."""
    segment.close()
    remove_quietly(fs, segment.log_path)
    remove_quietly(fs, segment.path(TXN_INDEX_SUFFIX) + SWAP_SUFFIX)


def commit(fs: Fs, folder: str, segment: Segment, aborted: Sequence[AbortedTransaction], *, sync: bool) -> None:
    """Commit a `.cleaned` segment, whose bytes are on stable storage, by giving it the suffix `.swap`. Discard it
    after an OSError.

    `aborted`: the content of its transaction index. Without `sync`, the file system must ensure that a power loss
    does not undo the rename and yet keep later changes of the folder.
    """
    base = segment.base_offset
    txn_index = segment.path(TXN_INDEX_SUFFIX)
    try:
        if aborted or fs.exists(txn_index):
            content = entries_to_bytes(aborted)
            fs.write_atomic(txn_index + SWAP_SUFFIX, content, sync=True)
            segment.write_aborted_checksum(content)
        for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
            _remove(fs, segment.path(suffix))
        swap = f"{folder}/{file_name(base, LOG_SUFFIX)}{SWAP_SUFFIX}"
        fs.rename(segment.log_path, swap)
        segment.suffix = SWAP_SUFFIX
        if sync:
            fs.sync_dir(folder)
    except OSError:
        discard(fs, segment)
        raise


def finish(fs: Fs, folder: str, base_offset: int, end_offset: int, *, sync: bool = True) -> list[str]:
    """Rename the segments that a `.swap` segment replaces, then give it its name.

    It replaces the files with offsets from `base_offset` to `end_offset` (exclusive). Return the paths of the files
    now named `.deleted`, which can be removed at any time. Raise OSError if that stopped half way: then this must be
    called again, now or at a start. With `sync`, no power loss brings back the replaced files once the new segment
    has its name.
    """
    names = fs.list_dir(folder)
    deleted: list[str] = []
    for name in names:
        path = f"{folder}/{name}"
        offset = offset_of_file(name, LOG_SUFFIX)
        if offset is not None and base_offset <= offset < end_offset:
            fs.rename(path, path + DELETED_SUFFIX)
            deleted.append(path + DELETED_SUFFIX)
        for suffix in INDEX_SUFFIXES:
            offset = offset_of_file(name, suffix)
            if offset is not None and base_offset < offset < end_offset:
                fs.remove(path)
    if sync:
        fs.sync_dir(folder)
    for suffix in (TXN_INDEX_SUFFIX, LOG_SUFFIX):  # the log last: while it is a `.swap`, a start finishes the swap
        name = file_name(base_offset, suffix)
        if name + SWAP_SUFFIX in names:
            fs.rename(f"{folder}/{name}{SWAP_SUFFIX}", f"{folder}/{name}")
    return deleted


def finish_interrupted(fs: Fs, folder: str, names: Sequence[str]) -> None:
    """Finish, during a start, the swaps that were committed, and remove the files of others. `names` are the
    folder's. Raise OSError.

    A damaged `.swap` file, which no crash produces, is removed, too, if the segments that it replaces still exist.
    Otherwise it is used as it is.
    """
    swaps = [name.removesuffix(SWAP_SUFFIX) for name in names if name.endswith(SWAP_SUFFIX)]
    bases = [base for name in swaps if (base := offset_of_file(name, LOG_SUFFIX)) is not None]
    for name in names:
        is_index = name.endswith(SWAP_SUFFIX) and offset_of_file(name.removesuffix(SWAP_SUFFIX), LOG_SUFFIX) is None
        orphan = is_index and not any(name.startswith(file_name(base, "")) for base in bases)
        if orphan or name.endswith(CLEANED_SUFFIX):
            remove_quietly(fs, f"{folder}/{name}")
    for base in bases:
        _finish_or_undo(fs, folder, base, names)
    for name in fs.list_dir(folder):
        if name.endswith(DELETED_SUFFIX):
            remove_quietly(fs, f"{folder}/{name}")


def _finish_or_undo(fs: Fs, folder: str, base: int, names: Sequence[str]) -> None:
    log_name = file_name(base, LOG_SUFFIX)
    path = f"{folder}/{log_name}{SWAP_SUFFIX}"
    file = fs.open(path)
    try:
        walk = SoundWalk(BatchWalk(file.read_at, file.size(), next_offset=base))
        for _ in walk:
            pass
    finally:
        file.close()
    for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):  # it is not known to which segment they belong
        _remove(fs, f"{folder}/{file_name(base, suffix)}")
    fault = walk.fault or (walk.damaged[0].fault if walk.damaged else None)
    if fault is None:
        finish(fs, folder, base, walk.next_offset)
    elif log_name in names or log_name + DELETED_SUFFIX in names:
        logger.error("%s: damaged (%s), thrown away: what it was to replace is still there", path, fault)
        for name in names:
            replaced = offset_of_file(name.removesuffix(DELETED_SUFFIX), LOG_SUFFIX)
            if name.endswith(DELETED_SUFFIX) and replaced is not None and replaced >= base:
                fs.rename(f"{folder}/{name}", f"{folder}/{name.removesuffix(DELETED_SUFFIX)}")
        _remove(fs, f"{folder}/{file_name(base, TXN_INDEX_SUFFIX)}{SWAP_SUFFIX}")
        _remove(fs, path)
    else:
        finish(fs, folder, base, walk.next_offset)


def tidy(fs: Fs, folder: str, segments: Sequence[Segment]) -> None:
    """Finish the swaps of a failed pass, and remove its files. `segments` are the log's. Raise OSError."""
    in_use = {file_name(segment.base_offset, "") for segment in segments if segment.suffix}
    for name in fs.list_dir(folder):
        stem = name.partition(".")[0]
        if name.endswith(TRANSIENT_SUFFIXES) and not (stem in in_use and name.endswith(SWAP_SUFFIX)):
            fs.remove(f"{folder}/{name}")
    for segment, following in pairwise(segments):
        if segment.suffix:
            deleted = finish(fs, folder, segment.base_offset, following.base_offset)
            segment.suffix = ""
            for path in deleted:
                remove_quietly(fs, path)


def _remove(fs: Fs, path: str) -> None:
    with suppress(FileNotFoundError):
        fs.remove(path)
