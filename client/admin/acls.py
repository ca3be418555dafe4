"""ACLs: the rights of users on resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.client.admin.calls import Calls, Outcome, refused
from shareq.protocol.generated.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from shareq.protocol.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from shareq.protocol.generated.describe_acls import DescribeAclsRequest, DescribeAclsResponse

RESOURCES: Final = {
    "any": 1,
    "topic": 2,
    "group": 3,
    "cluster": 4,
    "transactional-id": 5,
    "delegation-token": 6,
    "user": 7,
}
PATTERNS: Final = {"any": 1, "match": 2, "literal": 3, "prefixed": 4}
OPERATIONS: Final = {
    "any": 1,
    "all": 2,
    "read": 3,
    "write": 4,
    "create": 5,
    "delete": 6,
    "alter": 7,
    "describe": 8,
    "cluster-action": 9,
    "describe-configs": 10,
    "alter-configs": 11,
    "idempotent-write": 12,
    "create-tokens": 13,
    "describe-tokens": 14,
    "two-phase-commit": 15,
}
PERMISSIONS: Final = {"any": 1, "deny": 2, "allow": 3}
"""Kafka's names of the numbers in requests and answers, here and in the dictionaries above."""
_RESOURCE_NAMES: Final = {number: name for name, number in RESOURCES.items()}
_PATTERN_NAMES: Final = {number: name for name, number in PATTERNS.items()}
_OPERATION_NAMES: Final = {number: name for name, number in OPERATIONS.items()}
_PERMISSION_NAMES: Final = {number: name for name, number in PERMISSIONS.items()}


class Acl(NamedTuple):
    """One rule. `principal` is User:NAME, `host` an address or *; `resource_name` of the cluster is kafka-cluster."""

    resource: str
    resource_name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


class AclFilter(NamedTuple):
    """A filter of rules: `any` and None match everything; the pattern `match` finds the rules that apply to a name."""

    resource: str = "any"
    resource_name: str | None = None
    pattern: str = "any"
    principal: str | None = None
    host: str | None = None
    operation: str = "any"
    permission: str = "any"


EVERYTHING: Final = AclFilter()


class Acls:
    """The ACLs of a cluster."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def find(self, which: AclFilter = EVERYTHING) -> list[Acl]:
        """Return the rules that a filter finds, sorted."""
        answer = self._calls.any(DescribeAclsRequest(*_numbers(which)), DescribeAclsResponse, "ACLs")
        return sorted(
            _acl(
                resource=resource.resource_type,
                name=resource.resource_name,
                pattern=resource.pattern_type,
                principal=row.principal,
                host=row.host,
                operation=row.operation,
                permission=row.permission_type,
            )
            for resource in answer.resources
            for row in resource.acls
        )

    def create(self, acls: Sequence[Acl]) -> list[tuple[Acl, Outcome[bool]]]:
        """Add rules. One that exists is added without effect."""
        rows = [AclCreation(*_numbers(AclFilter(*acl))) for acl in acls]  # type: ignore[arg-type]  # names are given
        answer = self._calls.controller(CreateAclsRequest(rows), CreateAclsResponse, "create ACLs")
        return [
            (acl, refused(row.error_code, f"ACL for {acl.principal}", row.error_message) or True)
            for acl, row in zip(acls, answer.results, strict=True)
        ]

    def delete(self, which: AclFilter) -> list[tuple[Acl, Outcome[bool]]]:
        """Remove the rules that a filter finds, and return them. Raises BrokerError if the filter is refused."""
        request = DeleteAclsRequest([DeleteAclsFilter(*_numbers(which))])
        answer = self._calls.controller(request, DeleteAclsResponse, "delete ACLs")
        result = answer.filter_results[0]
        if error := refused(result.error_code, "delete ACLs", result.error_message):
            raise error
        return [
            (
                _acl(
                    resource=row.resource_type,
                    name=row.resource_name,
                    pattern=row.pattern_type,
                    principal=row.principal,
                    host=row.host,
                    operation=row.operation,
                    permission=row.permission_type,
                ),
                refused(row.error_code, f"ACL for {row.principal}", row.error_message) or True,
            )
            for row in result.matching_acls
        ]


def _numbers(which: AclFilter) -> tuple[int, str | None, int, str | None, str | None, int, int]:
    return (
        RESOURCES[which.resource],
        which.resource_name,
        PATTERNS[which.pattern],
        which.principal,
        which.host,
        OPERATIONS[which.operation],
        PERMISSIONS[which.permission],
    )


def _acl(resource: int, name: str, pattern: int, principal: str, host: str, operation: int, permission: int) -> Acl:
    return Acl(
        resource=_RESOURCE_NAMES.get(resource, str(resource)),
        resource_name=name,
        pattern=_PATTERN_NAMES.get(pattern, str(pattern)),
        principal=principal,
        host=host,
        operation=_OPERATION_NAMES.get(operation, str(operation)),
        permission=_PERMISSION_NAMES.get(permission, str(permission)),
    )
