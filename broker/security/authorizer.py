"""The decision on a principal's rights, as Apache Kafka's StandardAuthorizer makes it. Pure.

* A super user may do everything.
* An ACL applies to a request when its principal and host are the client's or mean every client, its operation is the
  requested one or ALL, and its resource is the requested one: by name, by prefix, or every one (`*`).
* One refusing ACL that concerns the request is enough to refuse; else one granting is enough to grant.
* Granted READ, WRITE, DELETE or ALTER also grants DESCRIBE; granted ALTER_CONFIGS also grants DESCRIBE_CONFIGS. A
  refusal of one operation refuses no other.
* If the resource has no ACL for any principal, `allow.everyone.if.no.acl.found` decides; if it has any, the request
  is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Final

from shareq.broker.security.acl_search import AclSearch
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission
from shareq.broker.security.names import EVERYBODY, WILDCARD

MOST_REMEMBERED: Final = 10_000  # decisions; clients make up names

_IMPLIED_BY: Final[dict[int, frozenset[int]]] = {
    Operation.DESCRIBE: frozenset(
        (Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.ALL)
    ),
    Operation.DESCRIBE_CONFIGS: frozenset((Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS, Operation.ALL)),
}

_Question = tuple[str, str, int, int, str]


class Authorizer:
    """All ACLs, and decisions by them. `generation` grows with each change, so that callers can keep decisions.

    `super_users` are TYPE:NAME; `allow_if_none` is `allow.everyone.if.no.acl.found`.
    """

    def __init__(self, super_users: Iterable[str] = (), *, allow_if_none: bool = False) -> None:
        self._super_users = frozenset(super_users)
        self._allow_if_none = allow_if_none
        self._acls: dict[Acl, None] = {}
        self._literal: dict[tuple[int, str], dict[Acl, None]] = {}  # by kind and name
        self._prefixed: dict[tuple[int, str], dict[Acl, None]] = {}
        self._lengths: dict[int, Counter[int]] = {}  # of prefixes, by kind
        self._prefix_lengths: dict[int, list[int]] = {}
        self._answers: dict[_Question, bool] = {}
        self.generation = 0

    def __len__(self) -> int:
        return len(self._acls)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._acls

    def replace(self, acls: Iterable[Acl]) -> None:
        """Use these ACLs from now on."""
        self._acls, self._literal, self._prefixed = {}, {}, {}
        self._lengths.clear()
        self.change((acl, True) for acl in acls)

    def change(self, changes: Iterable[tuple[Acl, bool]]) -> None:
        """Add each ACL (True) or remove it (False), in this order. A change that has been made already has no
        effect.
        """
        for acl, goes_by in changes:
            if (acl in self._acls) == goes_by:
                continue
            if goes_by:
                self._acls[acl] = None
                self._add(acl)
            else:
                del self._acls[acl]
                self._remove(acl)
        self._prefix_lengths = {kind: sorted(lengths) for kind, lengths in self._lengths.items()}
        self._answers.clear()
        self.generation += 1

    def _add(self, acl: Acl) -> None:
        if acl.pattern == PatternType.LITERAL:
            self._literal.setdefault((acl.kind, acl.name), {})[acl] = None
            return
        self._prefixed.setdefault((acl.kind, acl.name), {})[acl] = None
        self._lengths.setdefault(acl.kind, Counter())[len(acl.name)] += 1

    def _remove(self, acl: Acl) -> None:
        literal = acl.pattern == PatternType.LITERAL
        table, at = self._literal if literal else self._prefixed, (acl.kind, acl.name)
        del table[at][acl]
        if not table[at]:
            del table[at]
        if not literal:
            lengths = self._lengths[acl.kind]
            lengths[len(acl.name)] -= 1
            if not lengths[len(acl.name)]:
                del lengths[len(acl.name)]

    def acls(self) -> list[Acl]:
        """Return the present ACLs, in the order in which they were created."""
        return list(self._acls)

    def search(self) -> AclSearch:
        """Return a search among the present ACLs, for many filters."""
        return AclSearch(self._acls)

    def allows(self, principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        """Return True if `principal` (TYPE:NAME), connected from `host`, has the right to `operation` on the
        resource.
        """
        question = (principal, host, operation, kind, name)
        answer = self._answers.get(question)
        if answer is None:
            answer = principal in self._super_users or self._decide(*question)
            if len(self._answers) >= MOST_REMEMBERED:
                self._answers.clear()
            self._answers[question] = answer
        return answer

    def allows_any(self, principal: str, host: str, operation: int, kind: int) -> bool:
        """Return True if `principal` has the right to `operation` on some resource of the kind, which need not exist.

        A granted pattern counts unless all of it is refused: by the same name, by a refused prefix of it, or by a
        refusal for every resource. No operation implies another here, as in Apache Kafka 4.3.1. As there, a name that
        hardly any topic has is tested, too: a client with a right on that name has a right on some resource.
        """
        if self.allows(principal, host, operation, kind, "hardcode"):
            return True
        concerned = [
            acl
            for acl in self._acls
            if acl.kind == kind and _concerns(acl, principal, host) and acl.operation in (operation, Operation.ALL)
        ]
        refused = [acl for acl in concerned if acl.permission == Permission.DENY]
        if any(_is_wildcard(acl) for acl in refused):
            return False
        return any(
            acl.permission == Permission.ALLOW and not any(_covers(deny, acl) for deny in refused) for acl in concerned
        )

    def _decide(self, principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        found = granted = False
        for acl in self._about(kind, name):
            found = True
            if not _concerns(acl, principal, host):
                continue
            if acl.permission == Permission.DENY:
                if acl.operation in (operation, Operation.ALL):
                    return False
            elif acl.operation in _IMPLIED_BY.get(operation, (operation, Operation.ALL)):
                granted = True
        return granted or (not found and self._allow_if_none)

    def _about(self, kind: int, name: str) -> list[Acl]:
        acls = [*self._literal.get((kind, name), ())]
        if name != WILDCARD:
            acls += self._literal.get((kind, WILDCARD), ())
        for length in self._prefix_lengths.get(kind, ()):
            if length > len(name):
                break
            acls += self._prefixed.get((kind, name[:length]), ())
        return acls


def _concerns(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, EVERYBODY) and (acl.host in (host, WILDCARD) or _same_address(acl.host, host))


def _same_address(one: str, other: str) -> bool:
    """Return True if both texts are the same IPv6 address, which can be written in many ways."""
    if ":" not in one or ":" not in other:
        return False
    try:
        return IPv6Address(one) == IPv6Address(other)
    except ValueError:
        return False


def _is_wildcard(acl: Acl) -> bool:
    return acl.name == WILDCARD and acl.pattern == PatternType.LITERAL


def _covers(deny: Acl, allow: Acl) -> bool:
    """Return True if the refusal covers all resources of the grant."""
    if deny.pattern == PatternType.PREFIXED:
        return allow.name.startswith(deny.name) and not _is_wildcard(allow)
    return deny.name == allow.name and deny.pattern == allow.pattern
