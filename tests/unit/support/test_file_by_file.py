from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.processes import finished

ROOT: Final = Path(__file__).resolve().parents[3]
CONFTEST: Final = """
import os
import pytest
from tests.support import file_by_file

def pytest_addoption(parser):
    file_by_file.add_option(parser)

def pytest_configure(config):
    global reports
    reports = not hasattr(config, "workerinput")
    file_by_file.install(config)
    config.addinivalue_line("markers", "other: not chosen")

@pytest.fixture(scope="session")
def shared():
    yield os.getpid()
    with open("ended", "a") as file:
        print(os.getpid(), file=file)

@pytest.fixture
def ends_with():
    words = []
    yield words.append
    print(*words)
    assert "bad" not in words

def pytest_runtest_logreport(report):
    if reports:
        with open("reported", "a") as file:
            print(report.nodeid, report.when, report.outcome, file=file)
"""
NOTES_ITS_PROCESS: Final = (
    "import os\nimport pytest\nwith open(__file__ + '.by', 'a') as file:\n    print(os.getpid(), file=file)\n"
)
FILES: Final = {
    "a/test_one.py": "@pytest.mark.parametrize('at', range(3))\ndef test_passes(at, shared): assert shared",
    "a/test_others.py": "@pytest.mark.other\ndef test_is_not_chosen(): assert False",
    "b/test_two.py": "def test_fails(shared): assert shared == 0\n@pytest.mark.other\ndef test_other(): assert False",
    "b/test_three.py": "class TestOfAClass:\n    def test_method(self, shared, tmp_path): assert shared == os.getpid()",
    "b/test_ends.py": "def test_ends_badly(ends_with): ends_with('bad')\n"
    "def test_fails_and_ends(ends_with): ends_with('said at the end'); assert False\n"
    "def test_begins_badly(no_such_fixture): pass",
    "c/test_broken.py": "import no_such_module",
    "c/test_skipped.py": "pytest.skip('not here', allow_module_level=True)",
}


def run(folder: Path, *words: str) -> tuple[int, str]:
    (folder / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {ROOT} {ROOT / 'src'}\naddopts = --import-mode=importlib\n"
    )
    without = (f"-pno:{plugin}" for plugin in ("cacheprovider", "asyncio", "hypothesispytest", "shareq"))
    command = [sys.executable, "-m", "pytest", *without, "-q", "-rA", "--color=no", "-m", "not other", *words]
    done = finished(command, cwd=folder, timeout_s=600)
    return done.returncode, done.stdout + done.stderr


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in {
        "conftest.py": CONFTEST,
        **{name: NOTES_ITS_PROCESS + text for name, text in files.items()},
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def test_each_file_is_imported_by_the_process_that_runs_its_tests(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    code, printed = run(tmp_path, "--numprocesses=2", "--dist=loadfile", "--file-by-file")
    assert code == 1, printed
    assert set(re.findall(r"^(?:PASSED|FAILED|ERROR) [^ \n]+", printed, re.M)) == {
        *(f"PASSED a/test_one.py::test_passes[{at}]" for at in range(3)),
        "PASSED b/test_three.py::TestOfAClass::test_method",
        "FAILED b/test_two.py::test_fails",
        "PASSED b/test_ends.py::test_ends_badly",
        "ERROR b/test_ends.py::test_ends_badly",
        "FAILED b/test_ends.py::test_fails_and_ends",
        "ERROR b/test_ends.py::test_begins_badly",
        "ERROR c/test_broken.py",
    }, printed
    assert "2 failed, 5 passed, 1 skipped, 3 errors" in printed
    assert "[100%]" in printed
    assert "said at the end" in printed
    importers = {name: (tmp_path / f"{name}.by").read_text().split() for name in FILES}
    assert {name: len(by) for name, by in importers.items()} == dict.fromkeys(FILES, 1)
    ended = (tmp_path / "ended").read_text().split()
    reported = (tmp_path / "reported").read_text().splitlines()
    assert sorted(line for line in reported if " call " not in line) == [
        "b/test_ends.py::test_begins_badly setup failed",
        "b/test_ends.py::test_ends_badly teardown failed",
        "b/test_ends.py::test_fails_and_ends teardown passed",
    ], "what says something"
    assert set(ended) == {importers[name][0] for name in ("a/test_one.py", "b/test_two.py", "b/test_three.py")}


def test_tests_that_are_named_are_collected_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"a/test_one.py": FILES["a/test_one.py"]})
    named = "a/test_one.py::test_passes[1]"
    code, printed = run(tmp_path, "--numprocesses=2", "--dist=loadfile", "--file-by-file", named)
    assert (code, re.findall(r"^PASSED (\S+)", printed, re.M)) == (0, [named]), printed
