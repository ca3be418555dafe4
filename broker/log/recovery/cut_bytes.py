"""Copies of sound bytes that a start cuts off a log: `<base offset>.log.<position>.cut`.

The broker never reads these files. They are removed with their partition's folder, or by the operator.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.segments.files import Segment

CUT_SUFFIX: Final = ".cut"
_COPY_BYTES: Final = 1024 * 1024


def keep_aside(fs: Fs, segment: Segment, position: int) -> str:
    """Copy a segment's bytes from `position` on, to stable storage; return the path of the copy. Raise OSError."""
    path = _unused(fs, segment, position)
    try:
        file = fs.open(path, create=True)
        try:
            at = position
            while at < segment.size:
                data = segment.read_at(at, _COPY_BYTES)
                if not data:
                    break
                file.append([data])
                at += len(data)
            file.sync()
        finally:
            file.close()
    except OSError:
        with suppress(OSError):
            fs.remove(path)
        raise
    fs.sync_dir(path.rpartition("/")[0])
    return path


def set_segment_aside(fs: Fs, segment: Segment) -> str:
    """Move a whole segment out of its log; return the new path of its bytes. Raise OSError."""
    path = _unused(fs, segment, 0)
    segment.close()
    fs.rename(segment.log_path, path)
    segment.remove()  # its indexes
    return path


def _unused(fs: Fs, segment: Segment, position: int) -> str:
    path = f"{segment.log_path}.{position}{CUT_SUFFIX}"
    at = 1
    while fs.exists(path):  # of an earlier power loss
        at += 1
        path = f"{segment.log_path}.{position}.{at}{CUT_SUFFIX}"
    return path
