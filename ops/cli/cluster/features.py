"""`shareq features`: the cluster's features, and which of them are switched on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import click

from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option, yes_option
from shareq.ops.cli.shared.exits import pairs, wrong

command = cluster_group("features")


class FeatureRow(NamedTuple):
    feature: Annotated[str, "Its name."]
    level: Annotated[int, "The level in force; 0: off."]
    lowest: Annotated[int, "The lowest level that the broker supports."]
    highest: Annotated[int, "The highest level that the broker supports."]


class FeatureChangeRow(NamedTuple):
    feature: Annotated[str, "Its name."]
    level: Annotated[int, "The new level."]
    before: Annotated[int, "The level before."]
    done: Annotated[bool, "False with --dry-run."]


@cluster_command(command, "list", "  shareq features list", row=FeatureRow)
def list_features(session: Session) -> list[FeatureRow]:
    """List features: the levels in force, and the possible ones."""
    return [FeatureRow(*each) for each in session.admin.cluster.features()]


@cluster_command(
    command,
    "set",
    "  shareq features set share.version=1 --dry-run\n  shareq features set share.version=1 --yes",
    row=FeatureChangeRow,
)
@click.argument("levels", metavar="NAME=LEVEL...", nargs=-1, required=True)
@yes_option
@dry_run_option
def set_levels(session: Session, levels: tuple[str, ...], yes: bool, dry_run: bool) -> Iterator[FeatureChangeRow]:
    """Raise or lower features: all of them or none. 0 switches one off."""
    wanted: dict[str, int] = {}
    for name, text in pairs("features set", levels, "NAME=LEVEL").items():
        if not (text.isascii() and text.isdecimal() and int(text) < 1 << 15):
            wrong("features set", f"{name}={text}", "must be NAME=LEVEL, a level from 0 to 32767")
        wanted[name] = int(text)
    before = {each.name: each.level for each in session.admin.cluster.features()}
    if not dry_run:
        session.confirm(f"set {', '.join(levels)}", yes)
    session.admin.cluster.set_features(wanted, dry_run=dry_run)
    for name, level in wanted.items():
        yield FeatureChangeRow(name, level, before.get(name, 0), not dry_run)
