"""`shareq configs`: properties of topics, groups, brokers and client metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Final, NamedTuple

import click

from shareq.client.admin.configs import KINDS, Change, Resource
from shareq.client.errors import BrokerError, ClientError
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option
from shareq.ops.cli.shared.exits import USAGE, exit_with, pairs, wrong
from shareq.protocol.errors import ErrorCode

command = cluster_group("configs")

EVERY_BROKER: Final = "default"
"""The name that stands for the properties of all brokers."""
_KIND = click.argument("kind", type=click.Choice(tuple(KINDS)))


class ResourceRow(NamedTuple):
    kind: Annotated[str, "topic, group, broker, broker-logger or client-metrics."]
    name: Annotated[str, "Its name."]


class ConfigRow(NamedTuple):
    kind: Annotated[str, "topic, group, broker, broker-logger or client-metrics."]
    resource: Annotated[str, "The topic, group or broker; default for all brokers."]
    name: Annotated[str, "The property."]
    value: Annotated[str | None, "Its value; null of a secret, and of one that is not set."]
    source: Annotated[str, "Where it is set: topic, group, broker, all-brokers, file or, nowhere, default."]
    type: Annotated[str, "Kafka's type of it."]
    read_only: Annotated[bool, "Whether it cannot be changed while the broker runs."]
    sensitive: Annotated[bool, "Whether it is a secret."]


class ConfigChangeRow(NamedTuple):
    kind: Annotated[str, "topic, group, broker, broker-logger or client-metrics."]
    resource: Annotated[str, "The topic, group or broker; default for all brokers."]
    operation: Annotated[str, "set, unset, append or subtract."]
    name: Annotated[str, "The property."]
    value: Annotated[str | None, "The value; null of unset."]
    done: Annotated[bool, "False with --dry-run."]


def _resource(kind: str, name: str) -> Resource:
    return kind, "" if kind.startswith("broker") and name == EVERY_BROKER else name


@cluster_command(
    command,
    "list",
    "  shareq configs list\n  shareq configs list group",
    row=ResourceRow,
    empty="no resources of that kind",
)
@click.argument("kinds", metavar="[KIND]...", nargs=-1)
def list_resources(session: Session, kinds: tuple[str, ...]) -> Iterator[ResourceRow]:
    """List resources with properties: topics, brokers, and those groups and client metrics that have some set."""
    for kind in kinds:
        if kind not in KINDS:
            wrong("configs list", kind, f"must be one of {', '.join(KINDS)}")
    for row in sorted(session.admin.configs.resources(kinds)):
        yield ResourceRow(*row)


@cluster_command(
    command,
    "describe",
    "  shareq configs describe topic orders\n"
    "  shareq configs describe group packers --all\n"
    "  shareq configs describe broker 1 --name log.retention.ms --json",
    row=ConfigRow,
    columns=("name", "value", "source"),
    empty="no property is set; --all shows defaults",
)
@_KIND
@click.argument("resources", metavar="NAME...", nargs=-1, required=True)
@click.option("--all", "with_defaults", is_flag=True, help="Include properties that are set nowhere.")
@click.option("--name", "names", metavar="KEY", multiple=True, help="Only this property, set or not. Repeatable.")
def describe(
    session: Session, kind: str, resources: tuple[str, ...], with_defaults: bool, names: tuple[str, ...]
) -> Iterator[ConfigRow]:
    """Show the properties that are set; with --all also the others. The broker `default` stands for all."""
    wanted = [_resource(kind, each) for each in resources]
    for (_, name), outcome in session.succeeded(session.admin.configs.describe(wanted, names or None)):
        if missing := set(names).difference(each.name for each in outcome):
            what = f"{kind} {name or EVERY_BROKER}"
            text = f"It has no property {', '.join(sorted(missing))}."
            session.failed(BrokerError(ErrorCode.RESOURCE_NOT_FOUND, what, text))
        for each in outcome:
            if with_defaults or names or each.source != "default":
                yield ConfigRow(
                    kind=kind,
                    resource=name or EVERY_BROKER,
                    name=each.name,
                    value=each.value,
                    source=each.source,
                    type=each.kind,
                    read_only=each.read_only,
                    sensitive=each.sensitive,
                )


@cluster_command(
    command,
    "alter",
    "  shareq configs alter group packers --set share.auto.offset.reset=earliest\n"
    "  shareq configs alter topic orders --unset retention.ms --dry-run\n"
    "  shareq configs alter broker default --set log.retention.ms=3600000",
    row=ConfigChangeRow,
)
@_KIND
@click.argument("resource", metavar="NAME")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A property to set. Repeatable.")
@click.option("--unset", metavar="KEY", multiple=True, help="A property to reset to its default. Repeatable.")
@click.option(
    "--append", "appended", metavar="KEY=WORD", multiple=True, help="A word to add to a list property. Repeatable."
)
@click.option(
    "--subtract",
    "subtracted",
    metavar="KEY=WORD",
    multiple=True,
    help="A word to remove from a list property. Repeatable.",
)
@dry_run_option
def alter(
    session: Session,
    kind: str,
    resource: str,
    settings: tuple[str, ...],
    unset: tuple[str, ...],
    appended: tuple[str, ...],
    subtracted: tuple[str, ...],
    dry_run: bool,
) -> Iterator[ConfigChangeRow]:
    """Change properties of one topic, group or broker: all of them or none.

    A dead-letter queue of a group whose name lacks the brokers' prefix is refused: brokers would take it, and write no
    letter.
    """
    change = Change(
        pairs("--set", settings),
        unset,
        pairs("--append", appended, "KEY=WORD"),
        pairs("--subtract", subtracted, "KEY=WORD"),
    )
    rows: list[tuple[str, str, str | None]] = [("set", *each) for each in change.set.items()]
    rows += [("unset", each, None) for each in unset]
    rows += [("append", *each) for each in change.append.items()]
    rows += [("subtract", *each) for each in change.subtract.items()]
    if not rows:
        exit_with(USAGE, "configs alter: give --set, --unset, --append or --subtract")
    if kind == "group":
        session.admin.redrives.check_queue(resource, change.set)
    key = _resource(kind, resource)
    outcome = session.admin.configs.alter({key: change}, dry_run=dry_run)[key]
    if isinstance(outcome, ClientError):
        hint = _known_names(session, key, [name for _, name, _ in rows]) if _is_invalid(outcome) else ""
        session.failed(outcome, f"{hint}{'' if hint or str(outcome).endswith('.') else '.'} Nothing was changed.")
        return
    for operation, name, value in rows:
        yield ConfigChangeRow(kind, resource, operation, name, value, not dry_run)


def _is_invalid(error: ClientError) -> bool:
    return isinstance(error, BrokerError) and error.code == ErrorCode.INVALID_CONFIG


def _known_names(session: Session, resource: Resource, names: Iterable[str]) -> str:
    """Return a question with the known names that unknown ones are similar to; "" if there are none."""
    try:
        described = dict(session.admin.configs.describe([resource])).get(resource)
    except ClientError:  # a hint is no reason to lose the refusal
        return ""
    if described is None or isinstance(described, ClientError):
        return ""
    known = [each.name for each in described]
    near = [found for name in names if name not in known and (found := _nearest(name, known)) is not None]
    return f"; did you mean {', '.join(near)}?" if near else ""


def _nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that this one is the end of, or else similar to; None if there is none."""
    ends = [each for each in known if each.endswith(f".{name}")]
    return next(iter(ends or get_close_matches(name, known, 1, 0.85)), None)
