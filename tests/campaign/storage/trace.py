"""System calls of a broker as strace saw them, as operations on files.

strace prints a call when it returns, with its start time (CLOCK_REALTIME) and its duration. If another thread's call
comes in between, it prints the start and the end separately ("unfinished", "resumed"). So the lines are in the order of
the events, with one exception: a close frees its descriptor before it returns, and another thread may have reused it by
then. So a close counts from its start.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CALLS: Final = (
    "openat,open,creat,close,lseek,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,rename,renameat,"
    "renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,sync_file_range,syncfs,sync,dup,dup2,dup3,link,linkat,"
    "symlink,symlinkat"
)


def command(output: Path) -> list[str]:
    strace = ["strace", "-f", "-q", "-s", "2000000", "-xx", "-T", "--seccomp-bpf", "-e", "signal=none"]
    return [*strace, "--absolute-timestamps=format:unix,precision:ns", "-e", f"trace={CALLS}", "-o", str(output)]


def why_not_here() -> str | None:
    """Return why strace cannot be used; None if it can."""
    return None if shutil.which("strace") else "strace is not installed"


@dataclass(frozen=True, slots=True)
class Call:
    """One system call that succeeded, or the end of one. `began` and `ended` in ns since the epoch."""

    pid: int
    name: str
    arguments: str
    result: int
    began: int
    ended: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A sync that has begun and ends later. It does not cover writes in between."""

    pid: int
    name: str
    arguments: str
    began: int


_UNFINISHED: Final = re.compile(r"(\d+) +(\d+)\.(\d+) (\w+)\((.*) <unfinished \.\.\.>$")
_RESULT: Final = r"(.*)\) += (-?\d+|0x[0-9a-f]+|\?)(?: .*)? <([\d.]+)>$"
_WHOLE: Final = re.compile(r"(\d+) +(\d+)\.(\d+) (\w+)\(" + _RESULT)
_RESUMED: Final = re.compile(r"(\d+) +(\d+)\.(\d+) <\.\.\. (\w+) resumed>" + _RESULT)
_SYNCS: Final = frozenset({"fsync", "fdatasync", "syncfs", "sync"})


def parse(lines: Iterable[str]) -> Iterator[Call | Begun]:
    unfinished: dict[str, tuple[int, str]] = {}
    for line in lines:
        line = line.rstrip("\n")
        if whole := _WHOLE.match(line):
            pid, seconds, fraction, name, arguments, result, took = whole.groups()
            began = _ns(seconds, fraction)
        elif begun := _UNFINISHED.match(line):
            pid, seconds, fraction, name, arguments = begun.groups()
            unfinished[pid] = (_ns(seconds, fraction), arguments)
            if name in _SYNCS:
                yield Begun(int(pid), name, arguments, unfinished[pid][0])
            elif name == "close":
                began, _ = unfinished.pop(pid)
                yield Call(int(pid), name, arguments, 0, began, began)
            continue
        elif resumed := _RESUMED.match(line):
            pid, seconds, fraction, name, rest, result, took = resumed.groups()
            if pid not in unfinished:
                continue
            began, first = unfinished.pop(pid)
            arguments = first + rest
        else:
            continue
        if result != "?" and not result.startswith("-"):
            yield Call(int(pid), name, arguments, int(result, 0), began, began + int(float(took) * 1e9))


def _ns(seconds: str, fraction: str) -> int:
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0")[:9])


_STRING: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


def strings(arguments: str) -> list[bytes]:
    """Return the strings among the arguments, in order. strace must not have cut them."""
    found = []
    for hexadecimal, cut in _STRING.findall(arguments):
        assert not cut, "a string of the trace was cut off"
        found.append(bytes.fromhex(hexadecimal.replace("\\x", "")))
    return found


def numbers(arguments: str) -> Sequence[int]:
    """Return the numbers among the arguments that are not inside a string, in order."""
    bare = _STRING.sub('""', arguments)
    return [int(one) for one in re.findall(r"(?<![\w\"])-?\d+(?![\w\"])", bare)]
