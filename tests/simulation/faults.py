"""The faults of a seed's world: disk operations and metadata commits that fail or crash the broker."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import TYPE_CHECKING

from devtools.in_memory.mem_fs import SimulatedCrash

if TYPE_CHECKING:
    from tests.simulation.world import World


class Faults:
    """The planned faults. `happened`: whether any was planned since the broker started."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.happened = False
        self._left = 0  # disk operations that are to fail yet

    def fail_writes(self, after: int = 0) -> None:
        """Fail the next few disk operations of one kind, once `after` have succeeded."""
        world, soon = self._world, after
        kind = world.rng.choice(("write", "write", "write", "sync"))
        self._left = world.rng.randint(1, 2)
        world.note(f"the next {self._left} {kind}s fail" + (f", after {after}" if after else ""))
        self.happened = True

        def fail(step: str, path: str) -> OSError | None:
            nonlocal soon
            if step != kind or self._left <= 0:
                return None
            if soon:
                soon -= 1
                return None
            self._left -= 1
            world.seen[f"{kind}s that failed"] += 1
            return OSError(errno.EIO, "planned", path)

        world.fs.fail = fail

    def fill_disk(self) -> None:
        world = self._world
        world.note("the disk is nearly full")
        world.seen["full disks"] += 1
        self.happened = True
        world.fs.space_left = world.rng.randint(0, 200)

    def crash_soon(self) -> None:
        world = self._world
        world.fs.crash_at = world.fs.steps + world.rng.randint(1, 12)
        world.note(f"will crash at disk step {world.fs.crash_at}")

    def commit_fails(self) -> None:
        world = self._world
        how = world.rng.choice(("fails", "is not reached", "is the end"))
        world.note(f"the next commit {how}")

        def die(_changes: Sequence[object]) -> None:
            world.seen["crashes at a commit"] += 1
            self.clear_commits()
            raise SimulatedCrash

        def fail(_changes: Sequence[object]) -> None:
            world.seen["commits that failed"] += 1
            self.clear_commits()
            raise OSError(errno.EIO, "planned", "meta.db")

        self.clear_commits()
        if how == "is the end":
            world.db.after_commit = die
        elif how == "is not reached":
            world.db.before_commit = die
        else:
            self.happened = True
            world.db.before_commit = fail

    def clear_commits(self) -> None:
        self._world.db.before_commit = self._world.db.after_commit = None

    def clear(self) -> None:
        fs = self._world.fs
        fs.fail, fs.space_left, fs.crash_at = None, None, None
        self._left = 0
        self.clear_commits()

    def on_broker_start(self) -> None:
        fs, db = self._world.fs, self._world.db
        self.happened = (fs.fail is not None and self._left > 0) or fs.space_left is not None or bool(db.before_commit)
