"""Compiles what a record passes through: while shareq is installed (`hatch_build.py`), and again in a checkout:

    python scripts/compile_forms.py         # where sources have changed since

mypyc makes C of `record_walk.py`, and a C compiler makes `_record_walk` of that; likewise of `run_walk.py`. Of the
modules of `TOGETHER` it makes one library, and a small module for each, in `compiled_forms` (`src/shareq/compiled.py`
finds them there). All of it is for this Python and platform alone. Each walk stands for itself, and so does the
library: what cannot be compiled runs as Python beside the rest, which calls it as it would the compiled form.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def _finder() -> ModuleType:
    """`src/shareq/compiled.py` of this checkout: a shareq that is installed may be another, and a build has none."""
    spec = importlib.util.spec_from_file_location("shareq_compiled", ROOT / "src" / "shareq" / "compiled.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FINDER: Final = _finder()
SOURCES = tuple(
    Path("protocol/records") / name for name in ("record_walk.py", "run_walk.py", "key_chains.py", "offset_walk.py")
)
TOGETHER = (
    "broker/share/core/*.py",
    "broker/share/core/window/*.py",
    "broker/share/ordered/*.py",
    "broker/share/*.py",
    "broker/coordinator_runtime/*.py",
    "broker/foundation/pending.py",
    "broker/log/flush.py",
    "broker/log/partition_log.py",
    "coordinator/record_serde.py",
    "coordinator/share/delays.py",
    "coordinator/share/keys.py",
    "coordinator/share/records.py",
    "coordinator/share/results.py",
    "coordinator/share/shard.py",
    "coordinator/share/share_state.py",
    "protocol/records/batch.py",
    "protocol/records/cut.py",
    "protocol/records/keys.py",
    "protocol/records/record_codec.py",
    "protocol/share.py",
)
"""Modules that become one library, `__init__.py` apart; paths from here."""
FORMS: Final = Path(FINDER.CompiledForms(FINDER.FOLDER, ROOT).folder).relative_to(ROOT)
"""In a checkout: of this Python and platform."""
LIBRARY: Final[str] = FINDER.LIBRARY
NAMES: Final[str] = FINDER.NAMES
SEEN: Final[str] = FINDER.SEEN
MADE_BY: Final = "made_by.txt"
"""Beside the list: the CRC-32 of this file, which has the compilers' options."""
GROUP: Final = "the modules of TOGETHER in scripts/compile_forms.py"
"""What a line calls them."""
TIMEOUT_S = 900
COMPILING: Final = "compiling what a record passes through (about a minute)"


def why_not() -> str | None:
    """Why nothing can be compiled here; None if it seems that it can."""
    if os.environ.get("SHAREQ_PURE", "0") not in ("", "0"):
        return "SHAREQ_PURE is set"
    if sys.implementation.name != "cpython":
        return f"this Python is {sys.implementation.name}"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no {compiler}"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Python's headers are not installed"
    return None


def compiled_name(source: Path) -> str:
    """The file name of the module made of it."""
    return f"_{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"


def compiled(source: Path, folder: Path) -> Path:
    """The module made of `source`, in `folder`. RuntimeError with the last line of the compiler's output."""
    plain = folder / f"_{source.stem}.py"
    text = source.read_bytes()
    plain.write_bytes(text + b"\nSOURCE_CRC32 = %d\n" % zlib.crc32(text))
    command = [sys.executable, "-c", "from mypyc.__main__ import main; main()", plain.name]
    given = {**os.environ, "MYPYC_OPT_LEVEL": "3", "MYPYC_DEBUG_LEVEL": "0"}
    done = subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    built = folder / compiled_name(source)
    if done.returncode or not built.is_file():
        said = (done.stderr + done.stdout).strip().splitlines()
        raise RuntimeError(said[-1] if said else f"mypyc ended with code {done.returncode}")
    return built


def sources_together(root: Path) -> dict[str, Path]:
    """The modules of `TOGETHER`, by full name."""
    files = sorted({file for pattern in TOGETHER for file in root.glob(pattern) if file.name != "__init__.py"})
    return {".".join(("shareq", *file.relative_to(root).with_suffix("").parts)): file for file in files}


def sources_of_constants(root: Path) -> dict[str, Path]:
    """Other modules whose constants those of `TOGETHER` import, by full name: mypyc writes their values into the
    library. A constant that a module has from another is looked for there.
    """
    own = sources_together(root)
    trees: dict[str, ast.Module] = {}
    found: dict[str, Path] = {}
    for source in own.values():
        ahead = list(_imported_constants(ast.parse(source.read_bytes())))
        while ahead:
            module, name, _ = ahead.pop()
            file = root.joinpath(*module.split(".")[1:]).with_suffix(".py")
            if module in own or not file.is_file():
                continue
            found[module] = file
            if module not in trees:
                trees[module] = ast.parse(file.read_bytes())
            ahead += [each for each in _imported_constants(trees[module]) if each[2] == name]
    return dict(sorted(found.items()))


def _imported_constants(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Modules of shareq, names of constants that are imported from them, and as what."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("shareq."):
            for each in node.names:
                if each.name.isupper():
                    yield node.module, each.name, each.asname or each.name


def compiled_together(root: Path, folder: Path) -> Path:
    """A folder with the library of the modules of `TOGETHER`, a module for each, and the list of their names.

    RuntimeError with the first error of the compiler's output.
    """
    sources = sources_together(root)
    # Read before they are compiled: one that is edited meanwhile is not what is listed.
    lines = [f"{zlib.crc32(file.read_bytes())} {name}\n" for name, file in sources.items()]
    lines += [f"{zlib.crc32(file.read_bytes())} {name} {SEEN}\n" for name, file in sources_of_constants(root).items()]
    package = folder / "shareq"
    package.mkdir()
    for inside in (*root.glob("*/__init__.py"), *root.glob("src/shareq/*/__init__.py")):
        if not (package / inside.parent.name).exists():
            (package / inside.parent.name).symlink_to(inside.parent)
    for file in root.glob("src/shareq/*.py*"):
        (package / file.name).symlink_to(file)
    (folder / "mypy.ini").write_text(_MYPY)
    (folder / "setup.py").write_text(_SETUP)
    given = {name: str(Path(*name.split(".")).with_suffix(".py")) for name in sources}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", "built", *given.values()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    library = folder / "built" / f"{LIBRARY}{suffix}"
    if done.returncode or not library.is_file():
        said = [line for line in (done.stdout + done.stderr).splitlines() if "error:" in line]
        raise RuntimeError(said[0] if said else f"mypyc ended with code {done.returncode}")
    forms = folder / "forms"
    forms.mkdir()
    shutil.move(library, forms / library.name)
    for name in sources:
        shutil.move(folder / "built" / f"{Path(*name.split('.'))}{suffix}", forms / f"{name}{suffix}")
    (forms / NAMES).write_text("".join(lines), "ascii")
    return forms


# What mypy takes for unreachable mypyc leaves out, also where mypy is wrong: an attribute that was tested, and that
# a method has changed since.
_MYPY = "[mypy]\nignore_missing_imports = True\nfollow_imports = silent\nwarn_unreachable = True\n"

_SETUP = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from mypyc.build import mypycify
from setuptools import setup
from setuptools._distutils.ccompiler import CCompiler


def compile_side_by_side(self, sources, output_dir=None, macros=None, include_dirs=None, debug=0, extra_preargs=None,
                         extra_postargs=None, depends=None):
    macros, objects, extra, options, build = self._setup_compile(
        output_dir, macros, include_dirs, sources, depends, extra_postargs
    )
    arguments = self._get_cc_args(options, debug, extra_preargs)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [pool.submit(self._compile, each, *build[each], arguments, extra, options) for each in build]
    for each in made:
        each.result()
    return objects


CCompiler.compile = compile_side_by_side
files = [each for each in sys.argv if each.startswith("shareq/")]
del sys.argv[-len(files):]
setup(
    name="shareq",
    packages=[],
    ext_modules=mypycify(
        ["--config-file=mypy.ini", *files], opt_level="3", debug_level="0", multi_file=True, group_name="shareq"
    ),
)
"""


def put(forms: Path, place: Path) -> None:
    """Have `place` be the folder `forms`, which is removed: all of it or, after a kill, what was there or nothing."""
    (forms / MADE_BY).write_text(_own_crc(), "ascii")
    new = place.with_name(f"{place.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    shutil.move(forms, new)  # copied, where that is another disk
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def is_current(root: Path) -> bool:
    """Whether what is compiled of `TOGETHER` in a checkout was made of the sources as they are now, for this Python,
    and as it is made now.
    """
    forms = FINDER.CompiledForms((root / FORMS).parent, root)
    try:
        made_so = (root / FORMS / MADE_BY).read_text("ascii") == _own_crc()
    except (OSError, ValueError):
        return False
    return made_so and bool(forms.usable() == {LIBRARY, *sources_together(root)})


def _own_crc() -> str:
    return f"{zlib.crc32(Path(__file__).read_bytes())}\n"


def attempt(part: str, make: Callable[[], object], failed: dict[str, str]) -> None:
    """Call `make`; where it fails, `failed` has the reason by `part`."""
    try:
        make()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        failed[part] = str(error)


def announce() -> None:
    """Print what an installation is about to do. pip shows none of it without -v; the terminal has it all the same."""
    line = f"{COMPILING}; SHAREQ_PURE=1 leaves it out"
    print(line, flush=True)
    if "PIP_BUILD_TRACKER" in os.environ:
        with contextlib.suppress(OSError), open("/dev/tty", "w", encoding="utf-8") as terminal:
            print(f"\n{line}", file=terminal)


def report(failed: Mapping[str, str]) -> None:
    """One line of what is not compiled, and why; none where all is."""
    if failed:
        parts = "; ".join(f"{part} ({reason})" for part, reason in failed.items())
        print(f"shareq: not compiled, so that it runs as Python, more slowly: {parts}", file=sys.stderr)


def compile_group(root: Path, folder: Path, failed: dict[str, str]) -> None:
    """Have what is compiled of `TOGETHER` in a checkout be of the sources as they are, or be removed."""
    if is_current(root):
        return
    attempt(GROUP, lambda: put(compiled_together(root, folder), root / FORMS), failed)
    if GROUP in failed:
        shutil.rmtree(root / FORMS, ignore_errors=True)


def main() -> int:
    """Compile the modules of `TOGETHER` in this checkout, if that was not done."""
    if is_current(ROOT):
        return 0
    failed: dict[str, str] = {}
    reason = why_not()
    if reason is None:
        print(COMPILING, flush=True)
        with tempfile.TemporaryDirectory(prefix="shareq-build-") as folder:
            compile_group(ROOT, Path(folder), failed)
    else:
        shutil.rmtree(ROOT / FORMS, ignore_errors=True)
        failed[GROUP] = reason
    report(failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
