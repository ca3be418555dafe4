"""A search for many filters in many ACLs, in one pass over the ACLs for each kind of filter, with pauses. Pure.

Filters on the same fields share one table of the ACLs, by the values of these fields. A filter with the pattern
MATCH is replaced by several: for the literal name, for `*`, and for each prefix of the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final

from shareq.broker.foundation.turn_budget import PIECE, Breath
from shareq.broker.security.acls import Acl, AclFilter, PatternType
from shareq.broker.security.names import WILDCARD

_ANYTHING: Final = AclFilter()

_Fields = tuple[int, ...]
_Table = dict[object, list[int]]


class AclSearch:
    """A search among these ACLs, each of which occurs once."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        self._acls = list(acls)
        self._tables: dict[_Fields, _Table] = {}  # by the fields asked for: their values, positions in the list
        self._prefix_lengths: list[int] | None = None  # of all names that are prefixes, when they were asked for

    def __len__(self) -> int:
        return len(self._acls)

    async def prepare(self, wanted: AclFilter, breathe: Callable[[int], Breath]) -> None:
        """Make the table that this filter needs, unless an earlier filter on the same fields has made it."""
        if self._prefix_lengths is None and wanted.pattern == PatternType.MATCH and wanted.name is not None:
            lengths: set[int] = set()
            for some in self._pieces():
                lengths.update(len(acl.name) for acl in some if acl.pattern == PatternType.PREFIXED)
                await breathe(len(some))
            self._prefix_lengths = sorted(lengths)
        fields = _fields(self._plain(wanted)[0])  # the same of all
        if not fields or fields in self._tables:
            return
        values = itemgetter(*fields)  # an ACL has the fields of a filter, in the same order
        table: _Table = {}
        position = 0
        for some in self._pieces():
            for acl in some:
                table.setdefault(values(acl), []).append(position)
                position += 1
            await breathe(len(some))
        self._tables[fields] = table

    def _pieces(self) -> list[list[Acl]]:
        return [self._acls[first : first + PIECE] for first in range(0, len(self._acls), PIECE)]

    def count(self, wanted: AclFilter) -> int:
        """Return the number of ACLs that a valid, prepared filter matches."""
        return sum(len(self._positions(each)) for each in self._plain(wanted))

    def looked_up(self, wanted: AclFilter) -> int:
        """Return the number of look-ups that a prepared filter needs."""
        return len(self._plain(wanted))

    def matching(self, wanted: AclFilter) -> list[Acl]:
        """Return the ACLs that a valid, prepared filter matches, in their given order."""
        found = [position for each in self._plain(wanted) for position in self._positions(each)]
        return [self._acls[position] for position in sorted(found)]

    def _plain(self, wanted: AclFilter) -> list[AclFilter]:
        """Return filters without MATCH that together match the same ACLs; no ACL is matched by two of them."""
        name = wanted.name
        if wanted.pattern != PatternType.MATCH:
            return [wanted]
        if name is None:
            return [wanted._replace(pattern=PatternType.ANY)]
        lengths = [length for length in self._prefix_lengths or () if length <= len(name)]
        return [
            *(wanted._replace(pattern=PatternType.LITERAL, name=each) for each in {name, WILDCARD}),
            *(wanted._replace(pattern=PatternType.PREFIXED, name=name[:length]) for length in lengths),
        ]

    def _positions(self, wanted: AclFilter) -> Sequence[int]:
        fields = _fields(wanted)
        return self._tables[fields].get(itemgetter(*fields)(wanted), ()) if fields else range(len(self._acls))


def _fields(wanted: AclFilter) -> _Fields:
    """Return the fields for which the filter requires a value."""
    return tuple([field for field, value in enumerate(wanted) if value != _ANYTHING[field]])
