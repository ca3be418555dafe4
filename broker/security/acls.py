"""Access control lists as values: an ACL, a filter over ACLs, and the faults of either. Pure.

The numbers are those of the protocol (KIP-140, KIP-290).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from shareq.broker.security.names import CLUSTER_NAME, WILDCARD
from shareq.protocol.errors import ApiError, ErrorCode


class ResourceKind(IntEnum):
    """The kind of resource of an ACL. ANY is for filters only."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """The meaning of an ACL's resource name. ANY and MATCH are for filters only."""

    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """An operation on a resource. ANY is for filters only."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """The effect of an ACL: it grants or refuses. ANY is for filters only."""

    ANY = 1
    DENY = 2
    ALLOW = 3


_OF: Final = {
    ResourceKind.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceKind.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceKind.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceKind.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
}


def operations_of(kind: ResourceKind) -> tuple[Operation, ...]:
    """Return the operations that exist for a topic, a group, the cluster or a transactional id. Raise KeyError for
    any other kind.
    """
    return _OF[kind]


class Acl(NamedTuple):
    """One access control list entry. The numbers are members of the enumerations above, and concrete ones.

    `principal` is TYPE:NAME, `host` an address; `User:*` and `*` stand for every client. A literal name `*` stands
    for every resource of the kind.
    """

    kind: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


class AclFilter(NamedTuple):
    """A filter of ACLs; ANY and None match everything.

    The pattern MATCH finds every ACL that concerns the named resource: literal, wildcard and prefixed ones.
    """

    kind: int = ResourceKind.ANY
    name: str | None = None
    pattern: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    def matches(self, acl: Acl) -> bool:
        """Return True if this valid filter selects the ACL."""
        return (
            self.kind in (ResourceKind.ANY, acl.kind)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._matches_name(acl)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern not in (PatternType.ANY, PatternType.MATCH, acl.pattern):
            return False
        if self.name is None or self.name == acl.name:
            return True
        if self.pattern != PatternType.MATCH:
            return False
        return acl.name == WILDCARD if acl.pattern == PatternType.LITERAL else self.name.startswith(acl.name)


MOST_CHANGED: Final = 10_000
"""The most ACLs that one request adds or removes: `MAX_RECORDS_PER_USER_OP` of Apache Kafka."""
TOO_MANY: Final = ApiError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")

_KINDS: Final = frozenset(ResourceKind)
_PATTERNS: Final = frozenset(PatternType)
_OPERATIONS: Final = frozenset(Operation)
_PERMISSIONS: Final = frozenset(Permission)


def acl_problem(acl: Acl) -> str | None:
    """Return why an ACL cannot be created, as a sentence; None if it can. Unknown numbers are a problem, too."""
    if acl.kind not in _KINDS or acl.kind == ResourceKind.ANY:
        return f"Invalid resourceType {acl.kind}"
    if acl.kind == ResourceKind.CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.name:
        return "Invalid empty resource name"
    if acl.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"Invalid patternType {acl.pattern}"
    if acl.operation not in _OPERATIONS or acl.operation == Operation.ANY:
        return f"Invalid operation {acl.operation}"
    if acl.permission not in (Permission.ALLOW, Permission.DENY):
        return f"Invalid permissionType {acl.permission}"
    if ":" not in acl.principal:
        return f"Could not parse principal from `{acl.principal}`: it must be TYPE:NAME"
    return None


def filter_is_known(wanted: AclFilter) -> bool:
    """Return True if every number of the filter is known."""
    return (
        wanted.kind in _KINDS
        and wanted.pattern in _PATTERNS
        and wanted.operation in _OPERATIONS
        and wanted.permission in _PERMISSIONS
    )
