"""The common part of the campaigns' commands: immediate output, and planted faults that must be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping


def show(line: str) -> None:
    print(line, flush=True)


def all_found(faults: Mapping[str, Callable[[int], list[str]]], seed: int, rounds: int, kills: int) -> int:
    """Run each fault's campaign with successive seeds, of `kills` kills, until it finds something.

    Return the exit code: 1 if one found nothing in `rounds`. A campaign returns its findings, the worst first.
    """
    missed = 0
    for name, campaign in faults.items():
        found: list[str] = []
        tried = 0
        while not found and tried < rounds:
            found = campaign(seed + tried)
            tried += 1
        missed += not found
        show(f"{name}: {f'{len(found)} found, {found[0]}' if found else 'NOT FOUND'} ({kills * tried} kills)")
    return 1 if missed else 0
