"""The package for Debian: what it refuses, and what its control files say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import deb

SYSTEM = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(deb, "DIST", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(deb, "_run", lambda command: SYSTEM if command[0] == "/usr/bin/python3" else "amd64")
    return tmp_path


@pytest.mark.parametrize("wheels", [(), ("shareq-0.1.0-py3-none-any.whl", "shareq-0.2.0-py3-none-any.whl")])
def test_it_wants_one_wheel(dist: Path, wheels: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for name in wheels:
        (dist / name).touch()
    assert deb.main() == 1
    assert f"dist/ has {len(wheels)} wheels, one is needed" in capsys.readouterr().err


@pytest.mark.usefixtures("dist")
def test_it_wants_the_python_of_the_system(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(deb, "_run", lambda _command: "3.99\n")
    assert deb.main() == 1
    assert f"this Python is {SYSTEM}, the system's 3.99: PYTHON=/usr/bin/python3" in capsys.readouterr().err


@pytest.mark.usefixtures("dist")
@pytest.mark.parametrize("missing", ["dpkg-deb", "/usr/bin/python3"])
def test_it_says_that_a_system_is_no_debian(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else name)
    assert deb.main() == 1
    assert f"there is no {missing} here" in capsys.readouterr().err


def test_the_layout(dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deb, "_install", lambda _wheel, library: library.mkdir(parents=True))
    stage = tmp_path / "stage"
    stage.mkdir()
    made = deb.package(dist / "shareq-0.2.0-py3-none-any.whl", stage)
    version = f"0.2.0+py3{sys.version_info.minor}"
    assert made == dist / f"shareq_{version}_amd64.deb"
    control = dict(line.split(": ", 1) for line in (stage / "DEBIAN" / "control").read_text().splitlines()[:8])
    assert (control["Package"], control["Version"], control["Architecture"]) == ("shareq", version, "amd64")
    assert f"python3 (<< 3.{sys.version_info.minor + 1})" in control["Depends"]
    for path in (stage / "DEBIAN" / "conffiles").read_text().split():
        assert (stage / path.lstrip("/")).is_file(), path
    unit = (stage / "usr" / "lib" / "systemd" / "system" / "shareq.service").read_text()
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).split("=", 1)[1].split()[0]
    assert (stage / command.lstrip("/")).stat().st_mode & 0o111 == 0o111
    assert str((stage / "usr" / "bin" / "shareq").readlink()) == command
    for name in ("postinst", "prerm", "postrm"):
        subprocess.run(["sh", "-n", str(stage / "DEBIAN" / name)], check=True)
