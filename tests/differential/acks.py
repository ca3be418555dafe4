"""Random acknowledgements: of records that a member holds, or with one of many mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.differential.steps import ACCEPT, GAP, PARTITIONS, REJECT, RELEASE, RENEW, UNKNOWN_PARTITION, AckRange, Acks
from tests.differential.view import View

_TYPES = (ACCEPT, RELEASE, REJECT, GAP)
_WEIGHTS = (9, 7, 2, 1)
_WEIGHTS_GIVING_BACK = (1, 16, 1, 1)

Run = tuple[int, int]


def sound_acks(chance: Random, view: View, member: int, *, renew: bool) -> Acks:
    """Return acknowledgements of some held records, or none. `renew` adds renewals."""
    partitions = [partition for partition in range(PARTITIONS) if view.held_by(member, partition)]
    chance.shuffle(partitions)
    chosen = partitions[: chance.choice((1, 1, 2))]
    return tuple((partition, _some_of(chance, view, member, partition, renew=renew)) for partition in chosen)


def runs_of(offsets: list[int]) -> list[Run]:
    """Return the ranges that adjacent offsets form, both ends included."""
    found: list[Run] = []
    for offset in offsets:
        if found and found[-1][1] + 1 == offset:
            found[-1] = (found[-1][0], offset)
        else:
            found.append((offset, offset))
    return found


def _some_of(chance: Random, view: View, member: int, partition: int, *, renew: bool) -> tuple[AckRange, ...]:
    runs = runs_of(view.held_by(member, partition))
    weights = _WEIGHTS_GIVING_BACK if view.setup.gives_back else _WEIGHTS
    picked = sorted(chance.sample(runs, min(len(runs), chance.choice((1, 1, 2, 4)))))
    ranges = []
    for first, last in picked:
        if chance.random() < (
            0.3 if view.setup.gives_back else 0.6
        ):  # else all of it, which may be just what was acquired
            first = chance.randint(first, last)
            last = chance.randint(first, last)
        if first < last and chance.random() < 0.25:
            middle = chance.randint(first, last - 1)
            ranges += [(first, middle), (middle + 1, last)]
        else:
            ranges.append((first, last))
    return tuple(AckRange(first, last, _types(chance, last - first + 1, weights, renew)) for first, last in ranges)


def _types(chance: Random, offsets: int, weights: Sequence[int], renew: bool) -> tuple[int, ...]:
    def one() -> int:
        return RENEW if renew and chance.random() < 0.7 else chance.choices(_TYPES, weights)[0]

    if offsets == 1 or chance.random() < 0.65:
        return (one(),)
    return tuple(one() for _ in range(offsets))


# -- mistakes: each makes the ranges of one partition, or None when there is nothing to make them of


def _overlapping(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    runs = [run for run in runs_of(view.held_by(member, partition)) if run[1] - run[0] >= 2]
    if not runs:
        return None
    first, last = chance.choice(runs)
    return [AckRange(first, last - 1, (ACCEPT,)), AckRange(last - 2, last, (RELEASE,))]


def _sharing_one_offset(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    runs = [run for run in runs_of(view.held_by(member, partition)) if run[1] > run[0]]
    if not runs:
        return None
    first, last = chance.choice(runs)
    middle = chance.randint(first, last)
    return [AckRange(first, middle, (ACCEPT,)), AckRange(middle, last, (ACCEPT,))]


def _descending(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    held = view.held_by(member, partition)
    if len(held) < 2:
        return None
    return [AckRange(held[-1], held[-1], (ACCEPT,)), AckRange(held[0], held[0], (ACCEPT,))]


def _held(chance: Random, view: View, member: int, partition: int) -> Run | None:
    runs = runs_of(view.held_by(member, partition))
    return chance.choice(runs) if runs else None


def _wrong_number_of_types(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    run = _held(chance, view, member, partition)
    if run is None:
        return None
    size = run[1] - run[0] + 1
    return [AckRange(*run, (ACCEPT,) * chance.choice((0, size + 1, max(size - 1, 2 if size != 2 else 3))))]


def _unknown_type(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    run = _held(chance, view, member, partition)
    return None if run is None else [AckRange(*run, (chance.choice((5, -1, 127)),))]


def _first_behind_last(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    run = _held(chance, view, member, partition)
    return None if run is None else [AckRange(run[1] + 1, run[0], (ACCEPT,))]


def _unannounced_renewal(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    run = _held(chance, view, member, partition)
    return None if run is None else [AckRange(*run, (RENEW,))]


def _not_acquired(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    free = [
        offset
        for offset in range(view.log_end[partition])
        if offset not in view.held[partition] and offset not in view.finished[partition]
    ]
    if not free:
        return None
    offset = chance.choice(free)
    return [AckRange(offset, offset, (chance.choice(_TYPES),))]


def _another_members(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    runs = runs_of(sorted(offset for offset, held in view.held[partition].items() if held.member != member))
    if not runs:
        return None
    first, last = chance.choice(runs)
    return [AckRange(first, chance.randint(first, last), (chance.choice(_TYPES),))]


def _once_more(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    runs = runs_of(sorted(view.finished[partition]))
    if not runs:
        return None
    first, last = chance.choice(runs)
    return [AckRange(first, last, (chance.choice(_TYPES),))]


def _from_the_beginning(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    """Acknowledge a range that starts below the start offset, and ends at a held record, if there is one."""
    held = view.held_by(member, partition)
    if not held and chance.random() < 0.8:
        return None
    last = chance.choice(held) if held else chance.randrange(3)
    return [AckRange(0, last, (chance.choice(_TYPES),))]


def _beyond_the_end(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    end = view.log_end[partition] + chance.choice((0, 1, 1000))
    held = view.held_by(member, partition)
    first = held[-1] if held and chance.random() < 0.5 else end
    return [AckRange(first, end + chance.randrange(3), (ACCEPT,))]


def _sound_then_not_acquired(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    held = view.held_by(member, partition)
    later = [offset for offset in range(view.log_end[partition]) if offset not in view.held[partition]]
    if not held or not later or later[-1] < held[0]:
        return None
    return [AckRange(held[0], held[0], (RELEASE,)), AckRange(later[-1], later[-1], (ACCEPT,))]


def _over_everything(chance: Random, view: View, member: int, partition: int) -> list[AckRange] | None:
    """Acknowledge from the first to the last held record, of all members, with everything between."""
    held = sorted(view.held[partition])
    return [AckRange(held[0], held[-1], (chance.choice(_TYPES),))] if held else None


Mistake = Callable[[Random, View, int, int], list[AckRange] | None]

MISTAKES: Final[dict[str, Mistake]] = {
    "overlapping": _overlapping,
    "sharing one offset": _sharing_one_offset,
    "descending": _descending,
    "wrong number of types": _wrong_number_of_types,
    "unknown type": _unknown_type,
    "first behind last": _first_behind_last,
    "unannounced renewal": _unannounced_renewal,
    "not acquired": _not_acquired,
    "another member's": _another_members,
    "once more": _once_more,
    "from the beginning": _from_the_beginning,
    "beyond the end": _beyond_the_end,
    "sound, then not acquired": _sound_then_not_acquired,
    "over everything": _over_everything,
}


def mistaken_acks(chance: Random, view: View, member: int) -> tuple[str, Acks]:
    """Return one mistake on one partition, sometimes with valid acknowledgements of the other."""
    if chance.random() < 0.06:
        return "unknown partition", ((UNKNOWN_PARTITION, (AckRange(0, 0, (ACCEPT,)),)),)
    partition = chance.randrange(PARTITIONS)
    names = chance.sample(list(MISTAKES), len(MISTAKES))
    name, ranges = next(
        (name, made) for name in [*names, "beyond the end"] if (made := MISTAKES[name](chance, view, member, partition))
    )
    acks: Acks = ((partition, tuple(ranges)),)
    if view.held_by(member, 1 - partition) and chance.random() < 0.3:
        acks += ((1 - partition, _some_of(chance, view, member, 1 - partition, renew=False)),)
    return name, acks
