"""Folders of partitions in a data folder: their topics, and the removal of deleted topics' folders.

    DATA/<topic>-<partition>/                      see `files`
    DATA/<topic>-<partition>.<32 hex>-delete       of a deleted topic; removed soon, at the latest by the next start
    DATA/<topic>-<partition>.<32 hex>-stray        set aside by a release with format 1; never touched

Nothing is removed or renamed that a broker did not write, and symbolic links are never followed. The topic of a folder
is named in its `partition.metadata`; when that file is damaged, the folder's name is used, unless a deleted topic had
that name, too, and segments exist. The folder of an unknown topic may be the only remains of that topic, so the broker
does not start.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from itertools import islice
from typing import Final, NamedTuple, Protocol

from shareq.broker.foundation.environment import Environment, Fs, SyncErrors
from shareq.broker.foundation.ground_error import GroundError
from shareq.broker.foundation.repair_command import ADOPT_ALL, SET_ASIDE_ALL, repair_command
from shareq.broker.log.promises.checkpoints import format_partition_metadata, parse_epochs, parse_partition_metadata
from shareq.broker.log.segments.files import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE
from shareq.coordinator.ports import MetadataImage, TopicImage
from shareq.protocol.primitives import uuid_to_text

logger = logging.getLogger(__name__)

DELETE_SUFFIX: Final = "-delete"
MAX_NAME_BYTES: Final = 255

# These are compiled when first used, so that a start without folders is faster.
_PARTITION_FOLDER: Final = r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,9})"
_DELETED_FOLDER: Final = r"[a-zA-Z0-9._-]+\.[0-9a-f]{32}-delete"
_OUR_FILE: Final = r"[0-9]{20}\.[a-z0-9.]+|(partition\.metadata|leader-epoch-checkpoint)(\.tmp)?"
RENAMED_AT_ONCE: Final = 200
"""The most folders of deleted topics renamed in one tick, 40 µs each."""

REMOVED_AT_ONCE: Final = 5
"""The most folders removed in one tick, with their files, 0.2 ms each."""

_NAMED: Final = 3

TopicPartition = tuple[str, int]


class DamagedFolderError(GroundError):
    """Error: folders may belong to topics that metadata does not know. The text names them; the broker does not
    start.
    """


class KnownTopics(MetadataImage, Protocol):
    """The existing topics, and deleted ones that may still have folders."""

    def deleted_topics(self) -> Collection[TopicImage]: ...

    def folders_are_gone(self, topic_ids: Collection[bytes]) -> None:
        """Note that none of these deleted topics has a folder any longer, even after a power loss."""


class Claim(Enum):
    """The nature of a folder that is named like a partition's."""

    LIVE = "of a topic that exists"
    UNNAMED = "of a topic that exists, which its partition.metadata does not say"
    DELETED = "of a deleted topic"
    FOREIGN = "nothing of ours"
    UNKNOWN = "ours, and of no topic that is known"


class FolderClaim(NamedTuple):
    """A folder and the topic it belongs to. `topic` is set for LIVE, UNNAMED and DELETED; `problem` is why it is
    UNKNOWN or UNNAMED.

    `adoptable`: if UNKNOWN, it may be made a partition of the topic of that name.
    """

    name: str
    partition: TopicPartition
    claim: Claim
    topic: TopicImage | None = None
    problem: str = ""
    adoptable: bool = True


def is_our_file(name: str) -> bool:
    """Return True if the broker writes files of that name into a partition's folder."""
    return re.fullmatch(_OUR_FILE, name) is not None


def _is_of_segment(name: str) -> bool:
    return name[:1].isdecimal()


def claim_of(fs: Fs, data_dir: str, name: str, metadata: KnownTopics) -> FolderClaim | None:
    """Return the claim of a folder; None if its name is not a partition's. Nothing is changed. Raise OSError."""
    match = re.fullmatch(_PARTITION_FOLDER, name) if name[-1:].isdecimal() else None
    if match is None:
        return None
    partition = (match[1], int(match[2]))
    path = f"{data_dir}/{name}"
    image = _having(metadata.topic(match[1]), partition)
    if not fs.is_folder(path):
        if image is None or fs.is_file(path):
            return FolderClaim(name, partition, Claim.FOREIGN)
        problem = "it is a symbolic link, and these are not followed; move the folder itself there"
        return FolderClaim(name, partition, Claim.UNKNOWN, problem=problem, adoptable=False)
    content = _id_file(fs, path)
    if image is not None and content == format_partition_metadata(image.topic_id):
        return FolderClaim(name, partition, Claim.LIVE, image)
    deleted = [topic for topic in metadata.deleted_topics() if topic.name == partition[0]]
    candidates = [topic for topic in [image, *deleted] if topic is not None and _having(topic, partition) is not None]
    return _claim_by_id(
        fs=fs, path=path, name=name, partition=partition, metadata=metadata, content=content, candidates=candidates
    )


def _having(topic: TopicImage | None, partition: TopicPartition) -> TopicImage | None:
    return topic if topic is not None and partition[1] < topic.partitions else None


def _id_file(fs: Fs, path: str) -> bytes:
    try:
        return fs.read_bytes(f"{path}/{PARTITION_METADATA_FILE}")
    except (FileNotFoundError, IsADirectoryError):
        return b""


def _claim_by_id(
    fs: Fs,
    path: str,
    name: str,
    partition: TopicPartition,
    metadata: KnownTopics,
    content: bytes,
    candidates: list[TopicImage],
) -> FolderClaim:
    """Return the claim of a real folder whose topic id is not simply that of the topic with its name."""
    topic_id = _parsed(content)
    for topic in candidates:
        if topic.topic_id == topic_id:
            live = metadata.topic_by_id(topic.topic_id) is not None
            return FolderClaim(name, partition, Claim.LIVE if live else Claim.DELETED, topic)
    nearly = [topic for topic in candidates if _differ_little(content, format_partition_metadata(topic.topic_id))]
    if topic_id is not None and not nearly:
        known = {topic.topic_id for topic in metadata.deleted_topics()}
        adoptable = False
        if topic_id in known:  # a folder of that id under another name: only a broker renames to <name>-<number>
            problem = "its topic had another name, or fewer partitions"
        elif (owner := metadata.topic_by_id(topic_id)) is not None:
            problem = "its topic has another name, or fewer partitions"
            adoptable = owner.name == partition[0]
        else:
            problem = f"no topic is known that has the id in its {PARTITION_METADATA_FILE}, {uuid_to_text(topic_id)}"
            adoptable = metadata.topic(partition[0]) is None
        return FolderClaim(name, partition, Claim.UNKNOWN, problem=problem, adoptable=adoptable)
    ours = [each for each in fs.list_dir(path) if is_our_file(each)]
    if not ours:
        return FolderClaim(name, partition, Claim.FOREIGN)
    candidates = nearly or candidates
    # Without a segment it has no records of another topic: a crash came before the id was written into the folder.
    if len(candidates) == 1 or (candidates and not any(map(_is_of_segment, ours))):
        return _claimed(name, partition, metadata, candidates[0], topic_id)
    named = "a deleted topic had its name, too" if candidates else "no topic has its name"
    return FolderClaim(
        name, partition, Claim.UNKNOWN, problem=f"its {PARTITION_METADATA_FILE} is damaged or missing, and {named}"
    )


def _claimed(
    name: str, partition: TopicPartition, metadata: KnownTopics, topic: TopicImage, topic_id: bytes | None
) -> FolderClaim:
    live = metadata.topic_by_id(topic.topic_id) is not None
    if not live:
        return FolderClaim(name, partition, Claim.DELETED, topic)
    problem = "damaged or missing" if topic_id is None else "damaged"
    return FolderClaim(name, partition, Claim.UNNAMED, topic, problem)


def _parsed(content: bytes) -> bytes | None:
    try:
        return parse_partition_metadata(content)
    except ValueError:
        return None


def _differ_little(content: bytes, expected: bytes) -> bool:
    """Return True if both differ in one byte at most. No two topic ids do."""
    return len(content) == len(expected) and sum(a != b for a, b in zip(content, expected, strict=True)) <= 1


class _Retirement:
    """The folders of one deleted topic that are not renamed yet. `done` is called once the renaming of each was
    tried.
    """

    __slots__ = ("done", "names", "renamed")

    def __init__(self, names: Iterable[str], done: Callable[[bool], None]) -> None:
        self.names = dict.fromkeys(names)
        self.done = done
        self.renamed = True


class PartitionFolders:
    """The folders of partitions in `data_dir`, by name. Runs on the loop's thread. Methods raise OSError."""

    def __init__(self, env: Environment, data_dir: str) -> None:
        self._to_rename: deque[_Retirement] = deque()
        self._renamed = 0  # in this tick
        self._to_remove: deque[str] = deque()  # renamed away, one tick's removals at a time
        self._env = env
        self._fs = env.fs
        self._data_dir = data_dir

    def path(self, name: str) -> str:
        return f"{self._data_dir}/{name}"

    def claim(self, metadata: KnownTopics) -> list[FolderClaim]:
        """Return the folders of existing partitions, and retire those of deleted topics.

        Raise DamagedFolderError, and change nothing, if a folder of ours belongs to neither.
        """
        names = self._fs.list_dir(self._data_dir)
        claims = [claim for name in names if (claim := claim_of(self._fs, self._data_dir, name, metadata)) is not None]
        self._refuse_unknown([claim for claim in claims if claim.claim is Claim.UNKNOWN])
        for name in names:
            if name.endswith(DELETE_SUFFIX) and re.fullmatch(_DELETED_FOLDER, name) is not None:
                self._remove(name)
        for claim in claims:
            self._settle(claim)
        self.forget(metadata, {topic.topic_id for topic in metadata.deleted_topics()})
        return [claim for claim in claims if claim.claim in (Claim.LIVE, Claim.UNNAMED)]

    def _refuse_unknown(self, claims: list[FolderClaim]) -> None:
        if not claims:
            return
        first = "; ".join(f"{self.path(claim.name)}: {claim.problem}" for claim in claims[:_NAMED])
        more = f"; and {len(claims) - _NAMED} more folders" if len(claims) > _NAMED else ""
        adopt = any(claim.adoptable for claim in claims)
        aside = not all(claim.adoptable for claim in claims)
        options = [ADOPT_ALL] * adopt + [SET_ASIDE_ALL] * aside
        deeds = ["makes topics of them again"] * adopt + ["renames what cannot be one out of the way"] * aside
        raise DamagedFolderError(
            f"{first}{more}. Not starting, because the records in there may belong to a topic that exists. "
            f"{repair_command(self._data_dir, *options)} {', and '.join(deeds)}"
        )

    def _settle(self, claim: FolderClaim) -> None:
        path = self.path(claim.name)
        if claim.claim is Claim.FOREIGN and not (self._fs.is_folder(path) and not self._fs.list_dir(path)):
            logger.warning("%s: not a folder of ours, left alone", path)
        elif claim.claim is Claim.DELETED and claim.topic is not None:
            self._retire(claim.name, claim.topic.topic_id)
        elif claim.claim is Claim.UNNAMED and claim.topic is not None:
            logger.warning("%s/%s: %s, rewritten", path, PARTITION_METADATA_FILE, claim.problem)
            content = format_partition_metadata(claim.topic.topic_id)
            self._fs.write_atomic(f"{path}/{PARTITION_METADATA_FILE}", content, sync=True)

    def leader_epoch(self, name: str) -> int:
        """Return the last leader epoch in the folder's checkpoint; 0 if it has none."""
        try:
            epochs = parse_epochs(self._fs.read_bytes(f"{self.path(name)}/{LEADER_EPOCH_FILE}"))
        except (FileNotFoundError, ValueError):
            return 0
        return epochs[-1][0] if epochs else 0

    def make_way(self, name: str, metadata: KnownTopics) -> None:
        """Retire a deleted topic's folder that has the name which a new log needs.

        Raise OSError if something else has that name.
        """
        for retirement in self._to_rename:  # from here on the name is the new log's
            if name in retirement.names:
                del retirement.names[name]
                retirement.renamed &= self._retire_one(name)
        path = self.path(name)
        if not self._fs.exists(path):
            return
        claim = claim_of(self._fs, self._data_dir, name, metadata)
        if claim is not None and claim.claim is Claim.DELETED and claim.topic is not None:
            self._remove_later(self._renamed_away(name))  # its rename failed before
        elif claim is None or claim.claim is not Claim.FOREIGN or not self._fs.is_folder(path):
            raise FileExistsError(f"{path} is in the way of a log, and not of its topic")

    def retire(self, names: Iterable[str], done: Callable[[bool], None]) -> None:
        """Rename a deleted topic's folders, the first `RENAMED_AT_ONCE` before this returns, and remove them in
        later ticks.

        `done` is called with True if all of them were renamed. Failures are logged.
        """
        self._to_rename.append(_Retirement(names, done))
        if len(self._to_rename) == 1:
            self._rename_some()

    def _rename_some(self) -> None:
        while self._to_rename:
            retirement = self._to_rename[0]
            for name in list(islice(retirement.names, RENAMED_AT_ONCE - self._renamed)):
                self._count_renamed()
                del retirement.names[name]
                retirement.renamed &= self._retire_one(name)
            if retirement.names:
                return  # the next tick goes on
            self._to_rename.popleft()
            retirement.done(retirement.renamed)

    def _count_renamed(self) -> None:
        self._renamed += 1
        if self._renamed == 1:
            self._env.clock.call_soon(self._next_tick)

    def _next_tick(self) -> None:
        self._renamed = 0
        self._rename_some()

    def stop(self) -> None:
        """Stop. The next start handles the folders that are not renamed or removed yet."""
        self._to_rename.clear()
        self._to_remove.clear()

    def _retire_one(self, name: str) -> bool:
        """Rename one folder. Return False, and log the error, if that failed."""
        if not self._fs.is_folder(self.path(name)):
            return True
        try:
            gone = self._renamed_away(name)
        except OSError as error:
            logger.error("%s: not renamed, the next start tries again: %s", self.path(name), error)
            return False
        self._remove_later(gone)
        return True

    def _retire(self, name: str, topic_id: bytes) -> None:
        """Retire the folder as `retire` does, but during a start: a failure ends the start."""
        logger.warning("%s: of a topic that was deleted, id %s", self.path(name), uuid_to_text(topic_id))
        self._remove(self._renamed_away(name))

    def forget(self, metadata: KnownTopics, topic_ids: Collection[bytes]) -> None:
        """Let the metadata forget deleted topics whose folders have all been renamed."""
        if topic_ids:
            self._fs.sync_dir(self._data_dir)  # otherwise the rename of a forgotten topic's folder may be undone
            metadata.folders_are_gone(topic_ids)

    def forget_soon(self, metadata: KnownTopics, topic_ids: Collection[bytes]) -> None:
        """Do the same as `forget` once a sync off the loop has ended. If the sync fails, the next start does it."""

        def synced(errors: SyncErrors) -> None:
            if not errors:
                metadata.folders_are_gone(topic_ids)
            for path, error in errors.items():
                logger.warning("%s: not synced, the next start forgets deleted topics: %s", path, error)

        self._fs.sync_soon([], synced, folders=[self._data_dir], bulk=True)

    def _renamed_away(self, name: str) -> str:
        """Rename the folder and return its new name, which is never too long for a file system."""
        suffix = f".{self._env.random_uuid().hex()}{DELETE_SUFFIX}"
        gone = name[: MAX_NAME_BYTES - len(suffix)] + suffix
        self._fs.rename(self.path(name), self.path(gone))
        return gone

    def _remove_later(self, name: str) -> None:
        self._to_remove.append(name)
        if len(self._to_remove) == 1:
            self._env.clock.call_soon(self._remove_some)

    def _remove_some(self) -> None:
        for _ in range(min(REMOVED_AT_ONCE, len(self._to_remove))):
            self._remove_quietly(self._to_remove.popleft())
        if self._to_remove:
            self._env.clock.call_soon(self._remove_some)

    def _remove_quietly(self, name: str) -> None:
        try:
            self._remove(name)
        except OSError as error:
            logger.warning("%s: not removed, the next start tries again: %s", self.path(name), error)

    def _remove(self, name: str) -> None:
        """Remove our files from a deleted topic's folder, and the folder unless it has other files."""
        path = self.path(name)
        if not self._fs.is_folder(path):
            logger.warning("%s: not a folder, left alone", path)
            return
        foreign = 0
        names = self._fs.list_dir(path)
        for each in names:
            if is_our_file(each) and self._fs.is_file(f"{path}/{each}"):
                self._fs.remove(f"{path}/{each}")
            else:
                foreign += 1
        if foreign:
            logger.warning("%s: %d files or folders in it are not of ours, left alone", path, foreign)
            return
        self._fs.remove_dir(path)
        logger.info("%s: removed, %d files", path, len(names))
