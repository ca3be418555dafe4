"""The common part of campaigns that follow each record while the broker is killed: options, kills, and the verdict."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from tests.campaign.node import Node

QUIET_S: Final = 120.0
"""The time without a further end of a record after which those left count as lost."""


class RecordJudge(Protocol):
    """A judge of records. `sent` has those that were confirmed, `broken` a line for each broken promise."""

    sent: set[bytes]
    broken: list[str]
    seen: Counter[str]

    @property
    def left(self) -> set[bytes]:
        """Return the records that have not ended."""


J = TypeVar("J", bound=RecordJudge)


async def kill_at_times(node: Node, kills: int, rng: random.Random) -> None:
    """Kill the broker, and start it again, every one to four seconds."""
    for _ in range(kills):
        await asyncio.sleep(rng.uniform(1, 4))
        await asyncio.to_thread(node.kill)
        await asyncio.to_thread(node.start)


async def until_all_have_ended(judge: RecordJudge) -> None:
    """Wait until no record is left, or none has ended for `QUIET_S`."""
    until, left = time.monotonic() + QUIET_S, len(judge.left)
    while judge.left and time.monotonic() < until:
        await asyncio.sleep(0.5)
        if len(judge.left) < left:
            until, left = time.monotonic() + QUIET_S, len(judge.left)


def options_of(name: str, doc: str | None, arguments: Sequence[str], *, records: bool = True) -> argparse.Namespace:
    """Return the options of the campaign of this name. `records`: their number can be chosen."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.campaign.{name}", description=doc)
    if records:
        parser.add_argument("--records", type=int, default=5_000, help="in all (default 5,000)")
    parser.add_argument("--workers", type=int, default=3, help="of the group (default 3)")
    parser.add_argument("--kills", type=int, default=20, help="of the broker (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of times and kills (default 1)")
    return parser.parse_args(arguments)


def verdict(
    options: argparse.Namespace,
    settings: Mapping[str, str],
    judge: J,
    run: Callable[[Node, J, argparse.Namespace], Awaitable[None]],
    promise: str,
    more: Callable[[J], str] = lambda _judge: "",
) -> int:
    """Run a campaign on a broker with these settings, and print its figures; return the exit code.

    `promise` names what `judge.broken` counts, `more` returns further figures.
    """
    folder = Path(tempfile.mkdtemp(prefix="shareq-kills-"))
    node, began = Node(folder / "data", settings), time.monotonic()

    async def whole() -> None:
        await run(node, judge, options)

    try:
        node.start()
        asyncio.run(whole())
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{len(judge.sent):,} records confirmed, {options.kills} kills, seed {options.seed}: "
        f"{', '.join(f'{count:,} {what}' for what, count in sorted(judge.seen.items()))}, {more(judge)}"
        f"in {time.monotonic() - began:,.0f} s. {promise}: {len(judge.broken)}. Lost: {len(judge.left)}."
    )
    print(*judge.broken[:20], sep="\n", end="\n" if judge.broken else "")
    return int(bool(judge.broken or judge.left))
