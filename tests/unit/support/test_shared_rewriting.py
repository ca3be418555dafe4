"""The modules that each process of a run imports first."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.shared_rewriting import import_all, share_of


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("unit/test_a.py", "unit/deep/test_b.py", "unit/world.py", "wire/test_c.py", "spark/test_d.py"):
        file = tmp_path / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return tmp_path


def shares(checkout: Path, processes: int, arguments: list[str], ignored: list[str]) -> list[list[str]]:
    workers = [{"workerid": f"gw{at}", "workercount": processes} for at in range(processes)]
    return [share_of(worker, arguments, ignored, checkout) for worker in workers]


def test_every_module_is_in_one_share(checkout: Path) -> None:
    found = shares(checkout, 2, ["tests"], ["tests/spark"])
    assert found == [["tests.unit.deep.test_b", "tests.wire.test_c"], ["tests.unit.test_a"]]


def test_nothing_but_what_was_asked_for_is_imported(checkout: Path) -> None:
    assert shares(checkout, 1, ["tests/wire", "tests/unit/test_a.py::test_one"], []) == [
        ["tests.unit.test_a", "tests.wire.test_c"]
    ]


def test_a_module_that_cannot_be_imported_is_left_to_the_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    texts = {"broken": "import no_such_module", "skipped": "import pytest\npytest.skip(allow_module_level=True)"}
    for name, text in {**texts, "sound": ""}.items():
        (tmp_path / f"share_{name}.py").write_text(text)
    import_all([f"share_{name}" for name in (*texts, "sound")])
    assert {name for name in (*texts, "sound") if sys.modules.pop(f"share_{name}", None)} == {"sound"}
