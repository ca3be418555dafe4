"""All nodes before a cluster: their slots and figures, and which of them do not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from shareq.client.admin import Admin
from shareq.client.admin.groups import GroupListing
from shareq.client.errors import ClientError
from shareq.ops.console.views.shared import Json
from shareq.ops.console.views.windows import Windows

PATIENCE_MS: Final = 2_000
"""The time in which each broker has to list its groups."""
NO_NODE: Final = "no node"
_SHOWN: Final = ("address", "version", "slots", "awaited", "take_overs", "share_partitions", "in_flight", "problem")
_PREFIX: Final = "__shareq_"


def listed(admin: Admin, kinds: Sequence[str]) -> tuple[list[GroupListing], list[str], Admin]:
    """Return the groups of all brokers that answer, why others do not, and an administrator who asks only the former.
    Raises ClientError.
    """
    groups, failed = admin.groups.found_soon(kinds, timeout_ms=PATIENCE_MS)
    silent = {node: str(error) for node, error in failed.items()}
    return groups, list(silent.values()), admin.without(silent)


def groups_and_nodes(admin: Admin, windows: Windows) -> tuple[list[GroupListing], dict[int, str], list[Json]]:
    """Return the groups of all brokers that answer, the others with the reason, and the rows of all nodes; no rows
    without nodes, or without the records API of one. Both are asked side by side. Raises ClientError.
    """
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(windows.nodes)
        groups, failed = admin.groups.found_soon(timeout_ms=PATIENCE_MS)
        silent = {node: str(error) for node, error in failed.items()}
        try:
            seen = asked.result()
        except ClientError:  # the view of a group says why
            seen = None
    return groups, silent, [] if seen is None else _rows(seen, silent)


def _rows(seen: Json, silent: Mapping[int, str]) -> list[Json]:
    owned: dict[int | None, dict[str, list[int]]] = {}
    for slot in seen["slots"]:
        owned.setdefault(slot["node_id"], {}).setdefault(slot["topic"], []).append(slot["slot"])
    rows = [
        {
            "node": each["node_id"],
            **{name: each[name] for name in _SHOWN},
            "problem": each["problem"] or silent.get(each["node_id"]),
            "owns": _slots(owned.pop(each["node_id"], {})),
        }
        for each in seen["nodes"]
    ]
    unowned = {topic: sorted(slots) for topic, slots in _together(owned.values()).items()}
    if unowned:
        rows.append({"node": NO_NODE, **dict.fromkeys(_SHOWN), "owns": _slots(unowned)})
    return rows


def _together(several: Iterable[Mapping[str, list[int]]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in several:
        for topic, slots in each.items():
            found.setdefault(topic, []).extend(slots)
    return found


def _slots(by_topic: Mapping[str, list[int]]) -> str:
    """Return slots by topic as text, for example "groups 0-3, 7; state 4"."""
    return "; ".join(f"{topic.removeprefix(_PREFIX)} {_ranges(slots)}" for topic, slots in sorted(by_topic.items()))


def _ranges(slots: Iterable[int]) -> str:
    ranges: list[list[int]] = []
    for slot in sorted(slots):
        if ranges and ranges[-1][1] == slot - 1:
            ranges[-1][1] = slot
        else:
            ranges.append([slot, slot])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
