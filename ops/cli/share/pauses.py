"""`shareq share pause` and `resume`: stop and resume the delivery of records to groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple

import click

from shareq.client.admin.calls import Outcome
from shareq.client.errors import BrokerError, ClientError
from shareq.ops.cli.shared.command import ClusterGroup, Session, cluster_command, dry_run_option
from shareq.protocol.errors import ErrorCode

_GROUPS = click.argument("groups", metavar="GROUP...", nargs=-1, required=True)


class PauseRow(NamedTuple):
    group: Annotated[str, "The share group."]
    paused: Annotated[bool, "Whether it is paused now; with --dry-run, whether it would be."]
    done: Annotated[bool, "False with --dry-run."]


def add_pauses(command: ClusterGroup) -> None:
    """Add both commands to `shareq share`."""

    @cluster_command(
        command, "pause", "  shareq share pause packers\n  shareq share pause packers billing --json", row=PauseRow
    )
    @_GROUPS
    @dry_run_option
    def pause(session: Session, groups: tuple[str, ...], dry_run: bool) -> Iterator[PauseRow]:
        """Stop handing out records to share groups until they are resumed. Only shareq can do it.

        Consumers keep their records: they acknowledge and renew them, and records may become dead letters. A group that
        does not exist yet begins paused.
        """
        outcomes = session.admin.share_groups.pause(groups, dry_run=dry_run)
        yield from _rows(session, outcomes, True, dry_run)
        paused = [name for name, outcome in outcomes.items() if not isinstance(outcome, ClientError)]
        for name, described in session.admin.share_groups.describe(paused):
            if isinstance(described, BrokerError) and described.code == ErrorCode.GROUP_ID_NOT_FOUND:
                session.notes.append(f"There is no share group {name} yet; it begins paused.")

    @cluster_command(command, "resume", "  shareq share resume packers", row=PauseRow)
    @_GROUPS
    @dry_run_option
    def resume(session: Session, groups: tuple[str, ...], dry_run: bool) -> Iterator[PauseRow]:
        """Hand out records to share groups again. A group that is not paused stays unchanged."""
        yield from _rows(session, session.admin.share_groups.resume(groups, dry_run=dry_run), False, dry_run)


def _rows(session: Session, outcomes: Mapping[str, Outcome[bool]], paused: bool, dry_run: bool) -> Iterator[PauseRow]:
    for group, _ in session.succeeded(outcomes.items()):
        yield PauseRow(group, paused, not dry_run)
