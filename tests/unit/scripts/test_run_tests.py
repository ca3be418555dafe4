"""`make test`: each form is tested and shown, whatever came of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.run_tests import WHOLE_LIVES, Part, main, parts

ROOT = Path(__file__).resolve().parents[3]


def part(folder: Path, name: str, body: str, limit_s: int = 60) -> Part:
    test = folder / f"test_{name}.py"
    test.write_text(body)
    return Part(name, limit_s, {}, ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", f"--rootdir={folder}", str(test)))


def test_a_failure_of_the_first_form_hides_nothing_of_the_second(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bad = part(tmp_path, "bad", "def test_it() -> None:\n    assert 1 == 2\n")
    good = part(tmp_path, "good", "def test_it() -> None:\n    pass\n")
    assert main((bad, good)) == 1
    lines = capfd.readouterr().out.splitlines()
    failed, first, second, _ = lines[-4:]
    assert failed.startswith("bad: FAILED ")
    assert "test_bad.py::test_it" in failed
    assert first.startswith("bad            FAILED (1): 1 failed")
    assert second.startswith("good           ok: 1 passed")


def test_both_forms_have_to_pass(tmp_path: Path) -> None:
    good = part(tmp_path, "good", "def test_it() -> None:\n    pass\n")
    bad = part(tmp_path, "bad", "def test_it() -> None:\n    assert 1 == 2\n")
    assert main((good,)) == 0
    assert main((good, bad)) == 1


def test_whole_lives_left_out_of_one_form_are_in_the_other() -> None:
    python, compiled = parts(("--durations=3",))
    assert python.arguments[-1] == "--durations=3"
    for path in WHOLE_LIVES:
        assert (ROOT / path).is_file()
        assert f"--ignore={path}" in python.arguments
        assert path in compiled.arguments
    assert all((ROOT / path).exists() for path in compiled.arguments if path.startswith("tests/"))
