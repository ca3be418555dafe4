"""What many filters mean among many ACLs, in one pass over them for each kind of filter. Pure.

Filters that ask for the same fields ask one table, in which the ACLs stand by the values of these fields. A filter with
the pattern MATCH stands for some that name a resource: literally, as every one (`*`), and by each prefix of the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Final

from shareq.broker.security.acls import Acl, AclFilter, PatternType
from shareq.broker.security.names import WILDCARD

_ANYTHING: Final = AclFilter()

_Fields = tuple[int, ...]
_Table = dict[object, list[int]]


class AclSearch:
    """Looks filters up among these ACLs, in which each occurs once."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._acls = list(acls)
        self._tables: dict[_Fields, _Table] = {}  # by the fields asked for: their values, positions in the list
        self._prefix_lengths = sorted({len(acl.name) for acl in self._acls if acl.pattern == PatternType.PREFIXED})

    def matching(self, wanted: AclFilter) -> list[Acl]:
        """The ACLs that a valid filter means, in the order they were given; see `AclFilter.matches`."""
        found = [position for each in self._plain(wanted) for position in self._positions(each)]
        return [self._acls[position] for position in sorted(found)]

    def _plain(self, wanted: AclFilter) -> list[AclFilter]:
        """Filters without MATCH that together mean the same; no ACL is meant by two of them."""
        name = wanted.name
        if wanted.pattern != PatternType.MATCH:
            return [wanted]
        if name is None:
            return [wanted._replace(pattern=PatternType.ANY)]
        lengths = [length for length in self._prefix_lengths if length <= len(name)]
        return [
            *(wanted._replace(pattern=PatternType.LITERAL, name=each) for each in {name, WILDCARD}),
            *(wanted._replace(pattern=PatternType.PREFIXED, name=name[:length]) for length in lengths),
        ]

    def _positions(self, wanted: AclFilter) -> Iterable[int]:
        fields = tuple(field for field, value in enumerate(wanted) if value != _ANYTHING[field])
        if not fields:
            return range(len(self._acls))
        values = itemgetter(*fields)  # an ACL has the fields of a filter, in the same order
        table = self._tables.get(fields)
        if table is None:
            table = self._tables[fields] = {}
            for position, acl in enumerate(self._acls):
                table.setdefault(values(acl), []).append(position)
        return table.get(values(wanted), ())
