"""`shareq acls`: list, create, delete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, NamedTuple

import click

from shareq.client.admin.acls import OPERATIONS, PATTERNS, PERMISSIONS, RESOURCES, Acl, AclFilter
from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group, dry_run_option, yes_option
from shareq.ops.cli.shared.exits import USAGE, exit_with, wrong

command = cluster_group("acls")

CLUSTER_NAME: Final = "kafka-cluster"
_GIVEN: Final = tuple(name for name in RESOURCES if name != "any")


class AclRow(NamedTuple):
    resource: Annotated[str, "topic, group, cluster, transactional-id, delegation-token or user."]
    name: Annotated[str, "Its name, a beginning of names with the pattern prefixed, or * for all."]
    pattern: Annotated[str, "literal or prefixed."]
    principal: Annotated[str, "User:NAME, or User:* for all."]
    host: Annotated[str, "An address, or * for all."]
    operation: Annotated[str, "read, write and so on; all for all."]
    permission: Annotated[str, "allow or deny."]
    done: Annotated[bool, "False with --dry-run."]


def _filters(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--resource",
                type=click.Choice(tuple(RESOURCES)),
                default="any",
                help="Only rules for this kind of resource.",
            ),
            click.option("--name", metavar="NAME", help="Only rules for this resource name."),
            click.option(
                "--pattern",
                type=click.Choice(tuple(PATTERNS)),
                default="any",
                help="Only rules with this pattern type; match: all rules that apply to the name.",
            ),
            click.option("--principal", metavar="User:NAME", help="Only rules for this user."),
            click.option("--host", metavar="ADDRESS", help="Only rules for this address."),
            click.option(
                "--operation",
                type=click.Choice(tuple(OPERATIONS)),
                default="any",
                help="Only rules for this operation.",
            ),
            click.option("--permission", type=click.Choice(tuple(PERMISSIONS)), default="any"),
        )
    ):
        function = option(function)
    return function


def _filter(options: dict[str, Any]) -> AclFilter:
    return AclFilter(
        resource=options["resource"],
        resource_name=options["name"],
        pattern=options["pattern"],
        principal=options["principal"],
        host=options["host"],
        operation=options["operation"],
        permission=options["permission"],
    )


@cluster_command(
    command,
    "list",
    "  shareq acls list\n  shareq acls list --resource topic --name orders --pattern match",
    row=AclRow,
    columns=AclRow._fields[:-1],
    empty="no ACLs",
)
@_filters
def list_acls(session: Session, **options: Any) -> Iterator[AclRow]:
    """List rules: all, or those that match every option."""
    for acl in session.admin.acls.find(_filter(options)):
        yield AclRow(*acl, True)


@cluster_command(
    command,
    "create",
    "  shareq acls create --principal User:packer --resource group --name packers --operation read\n"
    "  shareq acls create --principal User:app --resource topic --name app. --pattern prefixed \\\n"
    "      --operation read --operation write --dry-run",
    row=AclRow,
)
@click.option(
    "--principal",
    "principals",
    metavar="User:NAME",
    multiple=True,
    required=True,
    help="The user that the rule is for. Repeatable.",
)
@click.option("--resource", type=click.Choice(_GIVEN), required=True, help="The kind of resource.")
@click.option("--name", metavar="NAME", help="The resource's name, * for all; not needed for the cluster.")
@click.option("--pattern", type=click.Choice(("literal", "prefixed")), default="literal", show_default=True)
@click.option("--operation", "operations", type=click.Choice(tuple(OPERATIONS)[1:]), multiple=True, required=True)
@click.option("--host", "hosts", metavar="ADDRESS", multiple=True, default=("*",), show_default=True)
@click.option("--deny", is_flag=True, help="Deny the operation, whatever other rules allow.")
@dry_run_option
def create(
    session: Session,
    principals: tuple[str, ...],
    resource: str,
    name: str | None,
    pattern: str,
    operations: tuple[str, ...],
    hosts: tuple[str, ...],
    deny: bool,
    dry_run: bool,
) -> Iterator[AclRow]:
    """Add a rule for each user, operation and address."""
    if name is None and resource != "cluster":
        exit_with(USAGE, f"acls create: --name of the {resource} is missing, * for all")
    for principal in principals:
        if ":" not in principal:
            wrong("--principal", principal, "must be User:NAME, User:* for all")
    permission = "deny" if deny else "allow"
    acls = [
        Acl(
            resource=resource,
            resource_name=name or CLUSTER_NAME,
            pattern=pattern,
            principal=principal,
            host=host,
            operation=operation,
            permission=permission,
        )
        for principal in principals
        for operation in operations
        for host in hosts
    ]
    if dry_run:
        yield from (AclRow(*acl, False) for acl in acls)
        return
    for acl, _ in session.succeeded(session.admin.acls.create(acls)):
        yield AclRow(*acl, True)


@cluster_command(
    command,
    "delete",
    "  shareq acls delete --principal User:packer --dry-run\n  shareq acls delete --principal User:packer --yes",
    row=AclRow,
    empty="no ACLs",
)
@_filters
@yes_option
@dry_run_option
def delete(session: Session, yes: bool, dry_run: bool, **options: Any) -> Iterator[AclRow]:
    """Remove the rules that match every option."""
    which = _filter(options)
    found = session.admin.acls.find(which)
    if dry_run or not found:
        yield from (AclRow(*acl, False) for acl in found)
        return
    session.confirm(f"delete {len(found)} ACLs", yes)
    for acl, _ in session.succeeded(session.admin.acls.delete(which)):
        yield AclRow(*acl, True)
