"""The common part of `shareq share` and `shareq groups`: rows, and commands for any kind of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

import click

from shareq.client.admin.calls import Outcome, Partition, batched, sum_known
from shareq.client.errors import BrokerError, ClientError
from shareq.ops.cli.output.progress import Progress
from shareq.ops.cli.shared.command import (
    ClusterGroup,
    Session,
    cluster_command,
    dry_run_option,
    yes_option,
)
from shareq.ops.cli.shared.exits import USAGE, exit_with
from shareq.ops.cli.shared.where import FORMS, offsets_of, partitions_of, place
from shareq.protocol.errors import ErrorCode


class GroupRow(NamedTuple):
    group: Annotated[str, "Its id."]
    kind: Annotated[str, "share, consumer, classic or streams; empty where the cluster does not say."]
    state: Annotated[str, "Kafka's name of its state; empty where the cluster does not say."]


class GroupInfo(NamedTuple):
    group: Annotated[str, "Its id."]
    kind: Annotated[str, "share, consumer or classic."]
    state: Annotated[str, "Kafka's name of its state."]
    epoch: Annotated[int | None, "The group epoch; null for a classic group."]
    assignor: Annotated[str, "Who gets which partition; empty without members."]
    members: Annotated[int, "How many there are."]
    partitions: Annotated[int, "Partitions that it has begun."]
    lag: Annotated[int | None, "Records that are not done with, in all partitions whose lag is known; null if none is."]
    unknown: Annotated[int, "Partitions whose lag is not known."]
    paused: Annotated[
        bool | None, "Whether no records are handed out, of share groups; null where the broker does not say."
    ]


class MemberRow(NamedTuple):
    group: Annotated[str, "The group."]
    member: Annotated[str, "The member's id."]
    client: Annotated[str, "Its client id."]
    host: Annotated[str, "Its address, as the broker sees it."]
    instance: Annotated[str | None, "The name of a static member."]
    epoch: Annotated[int | None, "The member epoch, of share groups."]
    assignment: Annotated[Mapping[str, tuple[int, ...]], "Partitions by topic."]


class OffsetRow(NamedTuple):
    group: Annotated[str, "The group."]
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    offset: Annotated[
        int | None,
        "The first offset that is not done with; null until the group has finished something there, or was reset.",
    ]
    end: Annotated[int | None, "The high watermark; null where it cannot be had."]
    lag: Annotated[int | None, "Records that are not done with; null where that is not known."]


class LagRow(NamedTuple):
    group: Annotated[str, "The group."]
    partitions: Annotated[int, "Partitions that it has begun."]
    lag: Annotated[int | None, "Records that are not done with, in all partitions whose lag is known; null if none is."]
    unknown: Annotated[int, "Partitions whose lag is not known."]


class ResetRow(NamedTuple):
    group: Annotated[str, "The group."]
    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "The partition's number."]
    before: Annotated[
        int | None, "The first offset that was not done with; null where it had finished nothing, and was never reset."
    ]
    offset: Annotated[int, "The offset at which the group goes on."]
    done: Annotated[bool, "False with --dry-run."]


class DeletedRow(NamedTuple):
    group: Annotated[str, "The group."]
    done: Annotated[bool, "False with --dry-run."]


class ForgottenRow(NamedTuple):
    group: Annotated[str, "The group."]
    topic: Annotated[str, "The topic that it has forgotten."]
    done: Annotated[bool, "False with --dry-run."]


class Described(NamedTuple):
    """A group of any kind."""

    kind: str
    state: str
    epoch: int | None
    assignor: str
    members: tuple[MemberRow, ...]


class Position(NamedTuple):
    """The position of a group in a partition. None means unknown."""

    offset: int | None
    end: int | None
    lag: int | None


class Kind(Protocol):
    """The operations that a kind of groups does in its own way."""

    word: str
    types: tuple[str, ...]

    def describe(self, session: Session, ids: Iterable[str]) -> Iterator[tuple[str, Outcome[Described]]]: ...

    def positions(
        self, session: Session, ids: Iterable[str], ends: bool
    ) -> Iterator[tuple[str, Outcome[dict[Partition, Outcome[Position]]]]]:
        """Yield the positions of groups that exist. Without `ends`, the ends of logs are looked up only for the lag."""

    def paused(self, session: Session, ids: Iterable[str]) -> Mapping[str, bool | None]:
        """Return True by group for paused groups, None if unknown; nothing for kinds that cannot be paused."""

    def explain(self, session: Session, group: str, positions: Mapping[Partition, Outcome[Position]]) -> None:
        """Print a note about positions that are not known yet."""

    def alter(
        self, session: Session, group: str, offsets: Mapping[Partition, int]
    ) -> dict[Partition, Outcome[int]]: ...

    def forget(self, session: Session, group: str, topics: tuple[str, ...]) -> dict[str, Outcome[bool]]: ...


def existing(session: Session, kind: Kind, ids: Iterable[str]) -> Iterator[tuple[str, Described]]:
    """Yield the groups that exist; note the others in the session."""
    return session.succeeded(kind.describe(session, ids))


def names_of(session: Session, kind: Kind) -> Iterator[str]:
    """Return the names of all groups of the kind."""
    return (row.group_id for row in session.admin.groups.find(kind.types))


def sums(rows: Iterable[Outcome[Position]]) -> tuple[int, int | None, int]:
    """Return the number of partitions, the sum of the known lags, and the number of partitions with unknown lag."""
    lags = [None if isinstance(each, ClientError) else each.lag for each in rows]
    return len(lags), *sum_known(lags)


def _add_list_groups(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(
        group,
        "list",
        f"  shareq {word} list\n  shareq {word} list --state Empty --json",
        row=GroupRow,
        empty=f"no {kind.word}s",
    )
    @click.option("--state", "states", metavar="STATE", multiple=True, help="Only groups in this state. Repeatable.")
    def list_groups(session: Session, states: tuple[str, ...]) -> Iterator[GroupRow]:
        for row in session.admin.groups.find(kind.types, states):
            yield GroupRow(row.group_id, row.kind, row.state)

    list_groups.help = f"List the {kind.word}s of the cluster."


def described_rows(session: Session, kind: Kind, groups: Sequence[str]) -> Iterator[GroupInfo]:
    """Yield state, members and lag of groups."""
    paused = kind.paused(session, groups)
    for name, each in existing(session, kind, groups):
        positions = dict(kind.positions(session, [name], False))[name]
        if isinstance(positions, ClientError):
            session.failed(positions)
            continue
        kind.explain(session, name, positions)
        summed = sums(positions.values())
        known = (each.kind, each.state, each.epoch, each.assignor, len(each.members), *summed)
        yield GroupInfo(name, *known, paused.get(name))


def _add_describe(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(group, "describe", f"  shareq {word} describe packers", row=GroupInfo)
    @click.argument("groups", metavar="GROUP...", nargs=-1, required=True)
    def describe(session: Session, groups: tuple[str, ...]) -> Iterator[GroupInfo]:
        return described_rows(session, kind, groups)

    describe.help = f"Show state, members and lag of {kind.word}s."


def _add_members(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(
        group, "members", f"  shareq {word} members packers", row=MemberRow, empty="no members", columns=None
    )
    @click.argument("groups", metavar="GROUP...", nargs=-1, required=True)
    def members(session: Session, groups: tuple[str, ...]) -> Iterator[MemberRow]:
        for _, each in existing(session, kind, groups):
            yield from each.members

    members.help = f"Show the members of {kind.word}s, and which partitions they have."


def _add_offsets(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(
        group,
        "offsets",
        f"  shareq {word} offsets packers",
        row=OffsetRow,
        empty="the group has not begun in any partition",
    )
    @click.argument("groups", metavar="GROUP...", nargs=-1, required=True)
    def offsets(session: Session, groups: tuple[str, ...]) -> Iterator[OffsetRow]:
        names = [name for name, _ in existing(session, kind, groups)]
        for name, positions in session.succeeded(kind.positions(session, names, True)):
            kind.explain(session, name, positions)
            for partition, position in session.succeeded(sorted(positions.items(), key=lambda item: item[0])):
                yield OffsetRow(name, *partition, *position)

    offsets.help = f"Show how far {kind.word}s are, partition by partition."


def _add_lag(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(
        group, "lag", f"  shareq {word} lag\n  shareq {word} lag packers --json", row=LagRow, empty=f"no {kind.word}s"
    )
    @click.argument("groups", metavar="[GROUP]...", nargs=-1)
    def lag(session: Session, groups: tuple[str, ...]) -> Iterator[LagRow]:
        with Progress() as progress:
            done = 0
            for some in batched(groups or names_of(session, kind)):
                names = [name for name, _ in existing(session, kind, some)] if groups else some
                for name, outcome in kind.positions(session, names, False):
                    done += 1
                    progress.show(f"{done:,} groups")
                    if isinstance(outcome, ClientError):
                        session.failed(outcome)
                        continue
                    if groups:
                        kind.explain(session, name, outcome)
                    yield LagRow(name, *sums(outcome.values()))

    why = " Why it grows: describe GROUP --plot, and records --held-for 1m." if word == "share" else ""
    lag.help = f"Show how many records {kind.word}s have before them; of all groups without names.{why}"


def _add_reset(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(
        group,
        "reset",
        f"  shareq {word} reset packers --topic orders --to earliest --dry-run\n"
        f"  shareq {word} reset packers --all-topics --to 2026-03-01T12:00 --yes\n"
        f"  shareq {word} reset packers --topic orders:0 --to 1200 --yes",
        row=ResetRow,
    )
    @click.argument("name", metavar="GROUP")
    @click.option(
        "--topic",
        "topics",
        metavar="TOPIC[:PARTITION]",
        multiple=True,
        help="The topic or partition to reset. Repeatable.",
    )
    @click.option("--all-topics", is_flag=True, help="All partitions that the group has begun.")
    @click.option("--to", metavar="PLACE", required=True, help=f"Where it goes on: {FORMS}.")
    @yes_option
    @dry_run_option
    def reset(
        session: Session, name: str, topics: tuple[str, ...], all_topics: bool, to: str, yes: bool, dry_run: bool
    ) -> Iterator[ResetRow]:
        if bool(topics) == all_topics:
            exit_with(USAGE, f"{word} reset: give either --topic or --all-topics")
        at = place("--to", to)
        before, count = _offsets_now(session, kind, name)
        partitions = _begun(session, kind, name) if all_topics else partitions_of(session, topics)
        wanted = dict(session.succeeded(offsets_of(session.admin, at, partitions).items()))
        if wanted and count:  # every cluster refuses that, and says less
            session.failed(has_members(kind, name, count))
            return
        if dry_run or not wanted:
            for partition, offset in sorted(wanted.items()):
                yield ResetRow(name, *partition, before.get(partition), offset, False)
            return
        session.confirm(f"let {kind.word} {name} go on at {to} in {len(wanted)} partitions", yes)
        done = sorted(kind.alter(session, name, wanted).items(), key=lambda item: item[0])
        for partition, offset in session.succeeded(done):
            yield ResetRow(name, *partition, before.get(partition), offset, True)

    reset.help = f"Let a {kind.word} without members go on at another place. A group that does not exist is made."


def _add_delete_offsets(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(group, "delete-offsets", f"  shareq {word} delete-offsets packers orders --yes", row=ForgottenRow)
    @click.argument("name", metavar="GROUP")
    @click.argument("topics", metavar="TOPIC...", nargs=-1, required=True)
    @yes_option
    @dry_run_option
    def delete_offsets(
        session: Session, name: str, topics: tuple[str, ...], yes: bool, dry_run: bool
    ) -> Iterator[ForgottenRow]:
        begun = {topic for topic, _ in _begun(session, kind, name)}
        if dry_run:
            yield from (ForgottenRow(name, topic, False) for topic in topics if topic in begun)
            return
        session.confirm(f"have {kind.word} {name} forget {', '.join(topics)}", yes)
        for topic, _ in session.succeeded(kind.forget(session, name, topics).items()):
            yield ForgottenRow(name, topic, True)

    delete_offsets.help = f"Have a {kind.word} forget topics: it begins with them as a new group would."


def _add_delete(group: ClusterGroup, kind: Kind, word: str) -> None:
    @cluster_command(
        group,
        "delete",
        f"  shareq {word} delete packers --dry-run\n  shareq {word} delete packers -y",
        row=DeletedRow,
    )
    @click.argument("names", metavar="GROUP...", nargs=-1, required=True)
    @yes_option
    @dry_run_option
    def delete(session: Session, names: tuple[str, ...], yes: bool, dry_run: bool) -> Iterator[DeletedRow]:
        members = {name: len(each.members) for name, each in existing(session, kind, dict.fromkeys(names))}
        if dry_run or not members:
            for name, count in members.items():
                if count:
                    session.failed(has_members(kind, name, count))
                else:
                    yield DeletedRow(name, False)
            return
        session.confirm(f"delete {kind.word} {', '.join(members)} with all offsets", yes)
        with Progress() as progress:
            for done, (name, outcome) in enumerate(session.admin.groups.delete(members), 1):
                progress.show(f"{done:,} of {len(members):,} groups deleted")
                if isinstance(outcome, ClientError):
                    session.failed(outcome)
                else:
                    yield DeletedRow(name, True)

    delete.help = f"Delete {kind.word}s without members, with all their offsets."


def add_commands(group: ClusterGroup, kind: Kind, word: str) -> None:
    """Add the commands for all kinds of groups to a click group. `word` is the group's name."""
    for add in (
        _add_list_groups,
        _add_describe,
        _add_members,
        _add_offsets,
        _add_lag,
        _add_reset,
        _add_delete_offsets,
        _add_delete,
    ):
        add(group, kind, word)


def has_members(kind: Kind, name: str, count: int) -> ClientError:
    """Return the cluster's error for changes of a group with members."""
    text = f"It has members: {count}. Stop them first; one that died is one until its session ends (45 s by default)."
    return BrokerError(ErrorCode.NON_EMPTY_GROUP, f"{kind.word} {name}", text)


def _offsets_now(session: Session, kind: Kind, name: str) -> tuple[dict[Partition, int | None], int]:
    """Return a group's offsets and its number of members; none for a group that does not exist."""
    members = 0
    for _, outcome in kind.describe(session, [name]):
        if isinstance(outcome, ClientError):
            return {}, 0
        members = len(outcome.members)
    positions = dict(kind.positions(session, [name], False)).get(name, {})
    if isinstance(positions, ClientError):
        return {}, members
    return {at: None if isinstance(each, ClientError) else each.offset for at, each in positions.items()}, members


def _begun(session: Session, kind: Kind, name: str) -> list[Partition]:
    """Return the partitions in which a group has begun; end the command for a group that does not exist."""
    for _, outcome in kind.describe(session, [name]):
        if isinstance(outcome, ClientError):
            raise outcome
    for _, positions in kind.positions(session, [name], False):
        if isinstance(positions, ClientError):
            raise positions
        return sorted(positions)
    return []


def assignment(member: Any) -> dict[str, tuple[int, ...]]:
    """Return the partitions of a member by topic, sorted."""
    return {topic: tuple(sorted(numbers)) for topic, numbers in sorted(member.assignment.items())}
