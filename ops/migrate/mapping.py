"""The exact mapping of offsets at the source to offsets at the target. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from shareq.ops.migrate.journal import Copied
from shareq.ops.migrate.journal_topic import JournalTopic
from shareq.ops.migrate.offset_syncs import find, located


def downstream(journal: JournalTopic, copied: Copied, offsets: Iterable[int]) -> dict[int, int]:
    """Return, for each offset of the source, the target's offset of the first record copied from it or from a later
    one.
    """
    syncs = journal.known.syncs_of(copied)
    found: dict[int, int] = {}
    between: dict[int, list[int]] = {}
    for offset in sorted(set(offsets)):
        number, exact = find(syncs, offset)
        if exact is not None:
            found[offset] = exact
        else:
            between.setdefault(number, []).append(offset)
    for number, wanted in between.items():
        found |= located(syncs[number - 1], journal.runs(copied, number), wanted)
    return found
