"""Make a package for Debian and its like of the wheel in dist/: `make dist deb PYTHON=/usr/bin/python3`.

It needs a system whose Python is of the same minor version as the one that makes it.

The package has shareq with what it needs in /opt/shareq/lib, the command /usr/bin/shareq, the unit of systemd, and
/etc/shareq/server.properties, which an upgrade leaves as it was edited. Installing it adds the user `shareq` and starts
the broker on loopback; removing it leaves /var/lib/shareq.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
SYSTEM_PYTHON: Final = "/usr/bin/python3"

# It finds its libraries beside itself; -P: not what happens to be in the folder where the user is.
_COMMAND: Final = """#!/usr/bin/python3 -P
import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "lib"))

from shareq.__main__ import main

sys.exit(main())
"""
_PROPERTIES: Final = """# Apache Kafka's names. Other machines are served after a look at the page on security.
listeners=PLAINTEXT://127.0.0.1:9092
"""
_CONTROL: Final = """Package: shareq
Version: {version}
Architecture: {architecture}
Maintainer: The shareq authors <shareq@localhost>
Installed-Size: {kib}
Depends: python3 (>= 3.{minor}), python3 (<< 3.{next}), libc6, passwd
Section: net
Priority: optional
Description: Kafka-wire-compatible broker for queues (share groups)
 Clients of Apache Kafka take records, and acknowledge, release or reject each
 of them (KIP-932). One process, without a JVM.
"""
_SCRIPTS: Final = {
    "postinst": """#!/bin/sh
set -e
id shareq >/dev/null 2>&1 || useradd --system --user-group --home-dir /var/lib/shareq --shell /usr/sbin/nologin shareq
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl enable --quiet shareq
    systemctl restart shareq
fi
""",
    "prerm": """#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --quiet --now shareq; fi
""",
    "postrm": """#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
""",
}


def main() -> int:
    missing = [each for each in ("dpkg-deb", SYSTEM_PYTHON) if shutil.which(each) is None]
    if missing:
        print(f"make deb: there is no {missing[0]} here: it is for Debian and its like", file=sys.stderr)
        return 1
    system = _run([SYSTEM_PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
    if system != (ours := f"{sys.version_info.major}.{sys.version_info.minor}"):
        print(f"make deb: this Python is {ours}, the system's {system}: PYTHON=/usr/bin/python3", file=sys.stderr)
        return 1
    wheels = sorted(DIST.glob("shareq-*.whl"))
    if len(wheels) != 1:
        print(
            f"make deb: dist/ has {len(wheels)} wheels, one is needed: make dist PYTHON=/usr/bin/python3",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory(prefix="shareq-deb-") as folder:
        made = package(wheels[0], Path(folder))
    print(f"{made.relative_to(ROOT)}: {_version(made)}")
    return 0


def package(wheel: Path, stage: Path) -> Path:
    """Lay the package out in an empty folder, and return its file in dist/."""
    minor = sys.version_info.minor
    version = f"{wheel.name.split('-')[1]}+py3{minor}"
    architecture = _run(["dpkg", "--print-architecture"]).strip()
    library = stage / "opt" / "shareq" / "lib"
    _install(wheel, library)
    _write(stage / "opt" / "shareq" / "bin" / "shareq", _COMMAND, 0o755)
    _write(stage / "etc" / "shareq" / "server.properties", _PROPERTIES)
    unit = (ROOT / "docker" / "shareq.service").read_text("utf-8").split("\n", 1)[1]  # without how to copy it by hand
    _write(stage / "usr" / "lib" / "systemd" / "system" / "shareq.service", unit)
    (stage / "usr" / "bin").mkdir(parents=True)
    (stage / "usr" / "bin" / "shareq").symlink_to("/opt/shareq/bin/shareq")
    kib = sum(path.stat().st_size for path in stage.rglob("*") if path.is_file()) // 1024
    control = _CONTROL.format(version=version, architecture=architecture, kib=kib, minor=minor, next=minor + 1)
    _write(stage / "DEBIAN" / "control", control)
    _write(stage / "DEBIAN" / "conffiles", "/etc/shareq/server.properties\n")
    for name, text in _SCRIPTS.items():
        _write(stage / "DEBIAN" / name, text, 0o755)
    stage.chmod(0o755)
    made = DIST / f"shareq_{version}_{architecture}.deb"
    _run(["dpkg-deb", "--root-owner-group", "--build", str(stage), str(made)])
    return made


def _install(wheel: Path, library: Path) -> None:
    """Install the wheel with the dependencies that `make lock` wrote down, and compile all of it."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    pip += ["--target", str(library)]
    for lock in ("requirements.lock", "requirements-re2.lock"):
        _run([*pip, "--require-hashes", "--no-deps", "--requirement", str(ROOT / "docker" / lock)])
    _run([*pip, "--no-deps", str(wheel)])
    shutil.rmtree(library / "bin", ignore_errors=True)  # their commands, for the Python that built the package
    # The files' times change on their way to another machine.
    _run(
        [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode",
            "unchecked-hash",
            "-s",
            str(library),
            "-p",
            "/opt/shareq/lib",
            str(library),
        ]
    )


def _version(package: Path) -> str:
    """Return what the command in a package says when it is asked for its version, by the system's Python."""
    with tempfile.TemporaryDirectory(prefix="shareq-deb-") as folder:
        _run(["dpkg-deb", "--extract", str(package), folder])
        return _run([f"{folder}/opt/shareq/bin/shareq", "--version"]).strip()


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(mode)


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, cwd=ROOT, check=False, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
