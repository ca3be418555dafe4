"""The judgement of what a damaged folder lost, and of whether that is allowed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from shareq.protocol.records.batch import BatchHeader, batch_headers, decode_records
from tests.storage_matrix.damages import Hit
from tests.storage_matrix.kinds import FOLDER, TOPICS_NEVER_CLEANED, Target
from tests.storage_matrix.life import GROUPS, SHARE_GROUPS, TRANSACTIONAL_IDS
from tests.storage_matrix.observe import UNREADABLE, Facts

BASE_OFFSET_BYTES: Final = 8
_KEY: Final = re.compile(r"""None|b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*\"""")


_UPDATE: Final = r"b'\x00\x01"
_SNAPSHOT: Final = r"b'\x00\x00"


class Red(Exception):
    """A loss, or another event, that must not happen."""


class Waiver(Enum):
    """The losses that are not held against the broker, with the reasons."""

    LATER_END = (
        "A log ends later than it did. What was damaged may have been promised up to there; offsets that are not given "
        "cost nothing"
    )
    CAME_BACK = (
        "Records are there again that the cleaner had removed: an older copy of the only file that holds them is sound "
        "in itself; of a cleaning that was cut short the files before it count when those after it are damaged"
    )
    MOVED = (
        "A batch of a log that a cleaner may have thinned out is at another offset, and that is not reported. No CRC "
        "covers a BaseOffset, and the wrong one fits between its neighbours, or behind the last one"
    )
    CLEANED = "Between two starts the cleaner did its work: a record is gone, a later one with its key is there"


@dataclass
class Allowed:
    """The losses that are allowed. `may_go`: facts that the damage hit.

    `back`: facts of records that files beside the log, or an older copy, contain, so that they may reappear. `moved`:
    the records of a batch whose BaseOffset was hit, in a log that may have been cleaned. `waived` is filled by `judge`.
    """

    may_go: set[str] = field(default_factory=set)
    back: Facts = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    waived: set[Waiver] = field(default_factory=set)


def judge(sound: Facts, facts: Facts, allowed: Allowed) -> list[str]:
    """Return the names of the missing facts. Raise Red for one that was not hit, or that has another value."""
    lost = [name for name, was in sound.items() if _is_lost(name, was, facts, allowed)]
    for name in facts.keys() - sound.keys():
        log, is_record, offset = name.partition(" record ")
        if is_record and facts[name] != UNREADABLE and int(offset) < int(sound.get(f"{log} end", "0")):
            _judge_appeared(name, facts[name], allowed)
    is_refused = any(facts.get(name) == UNREADABLE for name in lost)
    if allowed.moved and allowed.moved <= set(facts.values()) and not is_refused and facts != sound:
        allowed.waived.add(Waiver.MOVED)
    return lost


def _is_lost(name: str, was: str, facts: Facts, allowed: Allowed) -> bool:
    is_now = facts.get(name)
    if is_now == was:
        return False
    if name.endswith(" end") and is_now is not None and int(is_now) >= int(was):
        allowed.waived.add(Waiver.LATER_END)
        return False
    if is_now is not None and is_now != UNREADABLE and allowed.back.get(name) == is_now:
        allowed.waived.add(Waiver.CAME_BACK)
        return True
    if name not in allowed.may_go:
        raise Red(f"{name}: {was}, now {is_now}")
    if " record " in name and is_now is not None and is_now != UNREADABLE:
        raise Red(f"{name}: {was}, now something else: {is_now}")
    return True


def _judge_appeared(name: str, fact: str, allowed: Allowed) -> None:
    if allowed.back.get(name) == fact:
        allowed.waived.add(Waiver.CAME_BACK)
    elif fact not in allowed.moved:
        raise Red(f"{name} has appeared: {fact}")


def judge_later(facts: Facts, again: Facts, waived: set[Waiver]) -> str:
    """Return a fact that the second start lost after the first; "" if there is none."""
    allowed = Allowed(set(facts))  # that the log goes on is not waived
    timeless = {name: fact for name, fact in facts.items() if not name.endswith(" ms")}
    for name in judge(timeless, again, allowed):
        if not _was_cleaned(name, facts[name], again):
            return f"{name}: {facts[name]}, then {again.get(name)}"
        waived.add(Waiver.CLEANED)
    return ""


def _was_cleaned(name: str, fact: str, again: Facts) -> bool:
    """Return True if the log is compacted, and has a later record with the same key."""
    log, is_record, offset = name.partition(" record ")
    if not is_record or name in again or fact == UNREADABLE or log.removeprefix("log ") in TOPICS_NEVER_CLEANED:
        return False
    key = _key_of(log, fact)
    later = [value for other, value in again.items() if _offset_in(log, other) > int(offset)]
    return any(_key_of(log, value) == key for value in later)


def _offset_in(log: str, name: str) -> int:
    of, is_record, offset = name.partition(" record ")
    return int(offset) if is_record and of == log else -1


def _key_of(log: str, fact: str) -> str:
    """Return the record's key without its leading version.

    The cleaner ignores the version when it compares the keys of a share partition's records.
    """
    found = _KEY.match(fact)
    key = found.group() if found is not None else fact
    return key.removeprefix(_UPDATE).removeprefix(_SNAPSHOT) if "__share" in log else key


def allowed_after(template: str, target: Target, hit: Hit, sound: Facts, copy: str) -> Allowed:
    """Return the facts that may be missing, and those that may reappear, after damage to the bytes `hit`.

    `copy` is the path of the older copy that replaced the file, if any.
    """
    allowed = Allowed()
    if target.kind.endswith(FOLDER):
        names = sorted(os.listdir(f"{template}/{target.path}"))
        paths = [f"{target.path}/{name}" for name in names if ".log" in name]
    elif ".log" in target.path and not target.path.endswith(".cut"):
        paths = [target.path]
    else:
        return allowed
    offsets: set[int] = set()
    keys: list[bytes] = []
    for path in paths:
        for start, header, facts in _batches_in(f"{template}/{path}"):
            if start < hit[1] and hit[0] < start + header.size:
                offsets.update(range(header.base_offset, header.last_offset + 1))
                keys += [key for _, key, _ in facts]
                if header.is_control:  # what it ended are the transactions' offsets, all of one group
                    keys.append(GROUPS[0].encode())
                may_be_cleaned = path.endswith(".log") and target.partition not in TOPICS_NEVER_CLEANED
                if hit[1] <= start + BASE_OFFSET_BYTES and may_be_cleaned:
                    allowed.moved = {fact for _, _, fact in facts}
    allowed.may_go = set(_facts_about(target.partition, offsets, keys, sound))
    allowed.back = _may_be_back(template, target, copy)
    return allowed


def _may_be_back(template: str, target: Target, copy: str) -> Facts:
    """Return the records of the older copy; after an interrupted cleaning, of all files that it left."""
    files = []
    if copy:
        files = [copy] if os.path.isfile(copy) else [f"{copy}/{name}" for name in os.listdir(copy) if ".log" in name]
    elif not target.path.endswith(".log") and not target.kind.endswith(FOLDER):
        folder = f"{template}/{target.partition}"
        files = [f"{folder}/{name}" for name in os.listdir(folder) if ".log" in name]
    about = f"log {target.partition} record "
    return {f"{about}{at}": fact for file in files for _, _, facts in _batches_in(file) for at, _, fact in facts}


def records_in(paths: Iterable[str]) -> Iterator[tuple[int, str]]:
    for path in paths:
        yield from ((at, fact) for _, _, facts in _batches_in(path) for at, _, fact in facts)


def _batches_in(path: str) -> Iterator[tuple[int, BatchHeader, list[tuple[int, bytes, str]]]]:
    """Yield the position, the header and the records of each batch; a record as its offset, key and fact."""
    with open(path, "rb") as file:
        data = file.read()
    for position, header in batch_headers(data):
        records = decode_records(data[position : position + header.size])
        yield position, header, [(each.offset, each.key or b"", f"{each.key!r} {each.value!r}") for each in records]


def _facts_about(partition: str, offsets: set[int], keys: Iterable[bytes], sound: Facts) -> Iterator[str]:
    about = f"log {partition} "
    keys = list(keys)
    names = [name for name in (*GROUPS, *SHARE_GROUPS, *TRANSACTIONAL_IDS) if any(name.encode() in key for key in keys)]
    for fact in sound:
        if fact.startswith(about):
            kind, _, rest = fact.removeprefix(about).partition(" ")
            if (kind == "record" and int(rest) in offsets) or (offsets and kind in ("producer", "aborted", "at")):
                yield fact
        elif partition.startswith("__") and any(f" {name}" in fact for name in names):
            yield fact
