"""Commands within a time limit, and the folder of their temporary files."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "within.py"
PRINT = "import tempfile; print(tempfile.mkdtemp())"


def load() -> Any:
    spec = util.spec_from_file_location("within", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*words: str, keep: bool = False) -> subprocess.CompletedProcess[str]:
    variables = {"SHAREQ_KEEP_DATA": "1"} if keep else {}
    command = [sys.executable, str(SCRIPT), *words]
    return subprocess.run(command, env=variables, check=False, capture_output=True, text=True, timeout=60)


def test_the_exit_code_is_that_of_the_command() -> None:
    assert run("30", sys.executable, "-c", "raise SystemExit(7)").returncode == 7


def test_what_takes_too_long_is_ended() -> None:
    done = run("0.5", sys.executable, "-c", "import time; time.sleep(60)")
    assert done.returncode == 124
    assert "not done after" in done.stderr


def test_temporary_files_lie_in_memory_and_are_gone_in_the_end() -> None:
    within = load()
    if within.room_in_memory() < within.ROOM:
        pytest.skip("there is too little memory")
    folder = Path(run("--in-memory", "30", sys.executable, "-c", PRINT).stdout.strip())
    assert folder.is_relative_to(within.MEMORY)
    assert not folder.exists()


def test_when_it_is_ended_so_is_the_command() -> None:
    command = [sys.executable, str(SCRIPT), "30", sys.executable, "-c", "import time; print(1); time.sleep(60)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        process.terminate()
        assert process.stdout.read() == b"", "nobody holds the pipe any more"
        assert process.wait(60) == 130


@pytest.mark.parametrize(("words", "keep"), [((), False), (("--in-memory",), True)])
def test_they_lie_where_they_always_do_unless_memory_is_asked_for_or_if_they_are_to_be_kept(
    words: tuple[str, ...], keep: bool
) -> None:
    folder = Path(run(*words, "30", sys.executable, "-c", PRINT, keep=keep).stdout.strip())
    assert not folder.is_relative_to(load().MEMORY)
    folder.rmdir()


def test_there_is_as_much_room_as_both_memory_and_its_file_system_have(tmp_path: Path) -> None:
    within, meminfo = load(), tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 8 kB\nMemAvailable:       3 kB\n")
    assert within.room_in_memory(tmp_path, meminfo) == 3 << 10
    assert within.room_in_memory(tmp_path / "none", meminfo) == 0
    meminfo.write_text("MemTotal: 8 kB\n")
    assert within.room_in_memory(tmp_path, meminfo) == 0
