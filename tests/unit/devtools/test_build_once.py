"""Processes that need the same artefact at once: one builds it, and the others wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devtools.kafka.build_once import build_once, folder_made_once


def test_who_comes_meanwhile_waits_and_does_not_make_it_again(tmp_path: Path) -> None:
    thing, lock = tmp_path / "thing", tmp_path / "folder" / "thing.lock"
    made: list[str] = []
    making, finish = threading.Event(), threading.Event()

    def make(name: str) -> None:
        made.append(name)
        making.set()
        assert finish.wait(10)
        thing.touch()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(build_once, thing.exists, lambda: make("first"), lock)
        assert making.wait(10)
        second = pool.submit(build_once, thing.exists, lambda: make("second"), lock)
        finish.set()
        first.result()
        second.result()
    assert made == ["first"]


def test_after_a_failure_the_next_one_tries(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        build_once((tmp_path / "thing").exists, fail, tmp_path / "lock")
    build_once((tmp_path / "thing").exists, (tmp_path / "thing").touch, tmp_path / "lock")
    assert (tmp_path / "thing").exists()


def test_a_folder_that_could_not_be_filled_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "jars"

    def half(fresh: Path) -> None:
        (fresh / "one.jar").touch()
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        folder_made_once(folder, half)
    assert not folder.exists()
    made = folder_made_once(folder, lambda fresh: (fresh / "both.jar").touch())
    assert [file.name for file in made.iterdir()] == ["both.jar"]
    assert folder_made_once(folder, half) == folder
