"""A base image without a registry: Debian's own packages, put together by debootstrap.

It stands for the slim Python image that the Dockerfile names: a Debian with Python and its venv module.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path
from typing import Final

from tests.support.processes import finished

RELEASE: Final = "bookworm"
_PACKAGES: Final = ("python3", "python3-venv")
# What apt leaves behind, and what the kernel shows; neither belongs into an image.
_LEFT_OUT: Final = ("./proc/*", "./sys/*", "./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/log/*")


def base_archive(cache: Path, work: Path) -> Path:
    """Return the base as a tar archive, made in `work` and kept in `cache`. Raise RuntimeError if debootstrap fails."""
    archive = cache / f"debian-{RELEASE}-{platform.machine()}-python3.tar"
    if not archive.exists():
        cache.mkdir(parents=True, exist_ok=True)
        root = work / "debian"
        _run(["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", RELEASE, str(root), *_mirror()])
        unfinished = archive.with_suffix(".unfinished")
        leave_out = [f"--exclude={pattern}" for pattern in _LEFT_OUT]
        _run(["tar", "--numeric-owner", "--directory", str(root), *leave_out, "--create", f"--file={unfinished}", "."])
        shutil.rmtree(root)
        unfinished.replace(archive)
    return archive


def _mirror() -> list[str]:
    """Return Debian's usual mirror, unless DEBIAN_MIRROR names another one."""
    return [os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")]


def _run(command: list[str]) -> None:
    done = finished(command)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
