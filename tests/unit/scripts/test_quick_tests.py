from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.quick_tests import CORES, ROOT, UNITS, chosen, imported, importers, module_of
from tests.support.processes import finished

TESTS = sorted((ROOT / UNITS).rglob("test_*.py"))


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("broker/log/flush.py", "shareq.broker.log.flush"),
        ("broker/log/__init__.py", "shareq.broker.log"),
        ("src/shareq/__main__.py", "shareq.__main__"),
        ("tests/support/worlds/log_world.py", "tests.support.worlds.log_world"),
        ("scripts/within.py", "scripts.within"),
    ],
)
def test_a_file_is_known_by_the_name_that_imports_it(path: str, module: str) -> None:
    assert module_of(path) == module


def test_modules_are_imported_by_their_name_and_out_of_their_package() -> None:
    source = "import a.b\nfrom c.d import e as f\ndef late():\n    from g import h\n"
    assert {"a.b", "c.d.e", "g.h"} <= set(imported(source))


def test_what_changed_comes_first_then_what_imports_it_then_its_mirror_then_the_cores() -> None:
    own, change = "tests/unit/scripts/test_lock.py", "broker/log/aborted_transactions.py"
    files = chosen([own, change])
    importing = [str(path.relative_to(ROOT)) for path in importers([module_of(change)], TESTS)]
    mirrored = ["tests/unit/broker/log/test_aborted_transactions.py", "tests/unit/broker/log/test_flush.py"]
    cores = [file for file in files if file.startswith(CORES) and file not in importing]
    assert files[0] == own
    assert files[1 : len(importing) + 1] == importing
    assert [file for file in files if file in mirrored and file not in importing] == mirrored
    assert files[-len(cores) :] == cores
    assert len(files) == len(set(files))


def test_a_test_that_imports_a_module_is_found_by_it() -> None:
    here = Path(__file__)
    assert importers(["scripts.quick_tests"], TESTS) == [here]
    assert importers(["scripts.quick"], TESTS) == []


def test_every_core_has_tests() -> None:
    files = chosen([])
    assert [core for core in CORES if not any(file.startswith(core) for file in files)] == []


def test_when_time_is_up_no_further_test_begins_and_their_number_is_shown(tmp_path: Path) -> None:
    test = tmp_path / "test_five.py"
    test.write_text("import pytest\n@pytest.mark.parametrize('n', range(5))\ndef test_it(n): pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.time_limit", "--begin-within=0"]
    command += ["-p", "no:xdist", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(test)]
    done = finished(command, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "time is up: 4 tests left out" in done.stdout
    assert "1 passed" in done.stdout
