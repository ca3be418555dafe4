"""Write, or with --check verify, the lists of the image's packages: versions, and the hashes of their files.

`docker/requirements.lock` has the dependencies of pyproject.toml, `docker/requirements-re2.lock` those of the extra
re2, which has no wheel for musl, `docker/build-requirements.lock` the tools that build the wheel. pip resolves them for
each Python and platform that an image may have; all have to result in the same versions. --check uses no index: every
dependency must be listed, at a version that pyproject.toml allows.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[1]
PYTHONS: Final = ("3.11", "3.12", "3.13")
GLIBC: Final = tuple(
    tuple(f"{tag}_{machine}" for tag in ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"))
    for machine in ("x86_64", "aarch64")
)
MUSL: Final = tuple(("musllinux_1_2_" + machine, "musllinux_1_1_" + machine) for machine in ("x86_64", "aarch64"))
COMPILERS: Final = ["mypy[mypyc]>=2.3,<2.5", "setuptools>=75"]
"""The further packages that `hatch_build.py` needs to compile."""
LINE: Final = re.compile(
    r"^([A-Za-z0-9._-]+)==([^ ;]+)(?: ; ([^\\]+))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)

Locked = dict[str, tuple[str, set[str]]]
"""A package's name -> its version and the hashes of its files."""


def wanted() -> dict[str, list[str]]:
    """Return the requirements of each lock, by its file name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {
        "requirements.lock": project["project"]["dependencies"],
        "requirements-re2.lock": project["project"]["optional-dependencies"]["re2"],
        "build-requirements.lock": project["build-system"]["requires"] + COMPILERS,
    }


def platforms_of(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the platforms that a lock is for, each as the wheel tags that it accepts."""
    return GLIBC if name == "requirements-re2.lock" else GLIBC + MUSL


def resolve(requirements: list[str], platforms: Iterable[tuple[str, ...]]) -> Locked:
    """Return the packages that pip installs, over all Pythons and platforms. Raises SystemExit if they do not agree."""
    locked: Locked = {}
    for tags in platforms:
        for python in PYTHONS:
            for name, version, digest in _report(requirements, python, tags):
                known, digests = locked.setdefault(name, (version, set()))
                if known != version:
                    sys.exit(f"{name} is {known}, and {version} with Python {python} on {tags[0]}")
                digests.add(digest)
    return locked


def _report(requirements: list[str], python: str, tags: tuple[str, ...]) -> list[tuple[str, str, str]]:
    environment = {"python_version": python, "sys_platform": "linux"}
    applicable = [text for text in requirements if _applies(text, environment)]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--disable-pip-version-check", "--report", f"{folder}/report.json", "--target", folder]
        command += ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
        command += [word for tag in tags for word in ("--platform", tag)]
        subprocess.run([*command, *(text.partition(";")[0] for text in applicable)], check=True)
        report = json.loads(Path(folder, "report.json").read_text("utf-8"))
    return [
        (
            canonicalize_name(item["metadata"]["name"]),
            item["metadata"]["version"],
            item["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for item in report["install"]
    ]


def _applies(text: str, environment: dict[str, str]) -> bool:
    marker = Requirement(text).marker
    return marker is None or marker.evaluate(environment)


def text_of(requirements: list[str], locked: Locked) -> str:
    """Return a lock file's text, in the form that `pip install --require-hashes` reads."""
    markers: dict[str, Marker | None] = {
        canonicalize_name(Requirement(text).name): Requirement(text).marker for text in requirements
    }
    lines = ["# Made by `make lock` from pyproject.toml. Do not edit.\n"]
    for name, (version, digests) in sorted(locked.items()):
        marker = markers.get(name)
        lines.append(f"{name}=={version}{f' ; {marker}' if marker else ''} \\\n")
        lines.append(" \\\n".join(f"    --hash=sha256:{digest}" for digest in sorted(digests)) + "\n")
    return "".join(lines)


def faults(requirements: list[str], text: str) -> list[str]:
    """Return why a lock's text does not match these requirements; nothing if it does."""
    versions = {canonicalize_name(name): version for name, version, _, _ in LINE.findall(text)}
    rest = LINE.sub("", text).strip().splitlines()
    found = [f"cannot be read: {line}" for line in rest if not line.startswith("#")]
    for wish in map(Requirement, requirements):
        version = versions.get(canonicalize_name(wish.name))
        if version is None:
            found.append(f"{wish.name} is missing")
        elif not wish.specifier.contains(version, prereleases=True):
            found.append(f"{wish.name}=={version} is not {wish.name}{wish.specifier}")
    return found


def main(arguments: list[str]) -> int:
    """Run the command; return 1 if a lock does not match pyproject.toml."""
    status = 0
    for name, requirements in wanted().items():
        path = ROOT / "docker" / name
        if arguments != ["--check"]:
            path.write_text(text_of(requirements, resolve(requirements, platforms_of(name))), "utf-8")
            print(f"{path.relative_to(ROOT)}: written")
        for fault in faults(requirements, path.read_text("utf-8") if path.exists() else ""):
            print(f"{path.relative_to(ROOT)}: {fault}; `make lock` writes it", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
