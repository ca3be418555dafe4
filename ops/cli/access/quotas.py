"""`shareq quotas`: limits of users, client ids and addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import click

from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option
from shareq.ops.cli.shared.exits import USAGE, exit_with, pairs, wrong

command = cluster_group("quotas")


class QuotaRow(NamedTuple):
    entity: Annotated[
        Mapping[str, str | None], "Names by kind (user, client-id, ip); null for the default of the kind."
    ]
    limits: Annotated[Mapping[str, float], "Limits by Kafka's names, for example producer_byte_rate."]


class QuotaChangeRow(NamedTuple):
    entity: Annotated[Mapping[str, str | None], "Names by kind; null for the default of the kind."]
    set: Annotated[Mapping[str, float], "Limits that were set."]
    removed: Annotated[tuple[str, ...], "Limits that were removed."]
    done: Annotated[bool, "False with --dry-run."]


def _entity_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for kind, text in (("user", "NAME"), ("client-id", "ID"), ("ip", "ADDRESS")):
        function = click.option(f"--default-{kind}", is_flag=True, help=f"All of {kind} without limits of its own.")(
            click.option(f"--{kind}", metavar=text)(function)
        )
    return function


def _entity(options: dict[str, Any]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for kind in ("user", "client-id", "ip"):
        field = kind.replace("-", "_")
        if options[f"default_{field}"]:
            found[kind] = None
        elif options[field] is not None:
            found[kind] = options[field]
    return found


@cluster_command(
    command,
    "list",
    "  shareq quotas list\n  shareq quotas list --user packer --json",
    row=QuotaRow,
    empty="no quotas",
)
@_entity_options
def list_quotas(session: Session, **options: Any) -> Iterator[QuotaRow]:
    """List limits, all or those of an entity."""
    yield from (QuotaRow(*each) for each in session.admin.quotas.find(_entity(options)))


@cluster_command(
    command,
    "alter",
    "  shareq quotas alter --user packer --set producer_byte_rate=1048576\n"
    "  shareq quotas alter --default-client-id --unset request_percentage --dry-run",
    row=QuotaChangeRow,
)
@_entity_options
@click.option("--set", "settings", metavar="NAME=NUMBER", multiple=True, help="A limit to set. Repeatable.")
@click.option("--unset", metavar="NAME", multiple=True, help="A limit to remove. Repeatable.")
@dry_run_option
def alter(
    session: Session, settings: tuple[str, ...], unset: tuple[str, ...], dry_run: bool, **options: Any
) -> Iterator[QuotaChangeRow]:
    """Set and remove limits of a user, a client id, both together, or an address."""
    entity = _entity(options)
    if not entity:
        exit_with(USAGE, "quotas alter: give --user, --client-id or --ip, or one of --default-...")
    if not settings and not unset:
        exit_with(USAGE, "quotas alter: give --set or --unset")
    limits: dict[str, float] = {}
    for name, text in pairs("--set", settings, "NAME=NUMBER").items():
        try:
            limits[name] = float(text)
        except ValueError:
            wrong("--set", f"{name}={text}", "must be NAME=NUMBER")
    session.admin.quotas.alter(entity, limits, unset, dry_run=dry_run)
    yield QuotaChangeRow(entity, limits, unset, not dry_run)
