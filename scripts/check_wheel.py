"""sdist -> wheel -> install into a fresh environment outside the checkout -> start once; both files stay in dist/, with
a bill of what the wheel needs (`sbom.py`). The sdist is built twice, and has to be the same file.

Catches a hollow wheel: the folders at the root become shareq.* only through the mapping in pyproject.toml. Where there
is a compiler, the passes have to run compiled: the sdist contains what compiles them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from compile_passes import why_not  # type: ignore[import-not-found] # beside this file

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    for old in (ROOT / "dist").glob("shareq-*"):
        old.unlink()
    # The wheel is built from the sdist, not from the checkout: that is what `build` does without either option.
    _run([sys.executable, "-m", "build", "--outdir", str(ROOT / "dist"), str(ROOT)], ROOT)
    wheel = next((ROOT / "dist").glob("shareq-*.whl"))
    sources = next((ROOT / "dist").glob("shareq-*.tar.gz"))
    with tempfile.TemporaryDirectory(prefix="shareq-wheel-") as folder:
        outside = Path(folder)
        _run([sys.executable, "-m", "build", "--sdist", "--outdir", folder, str(ROOT)], ROOT)
        if (outside / sources.name).read_bytes() != sources.read_bytes():
            print(f"{sources.name} is another file when it is built again", file=sys.stderr)
            return 1
        _run([sys.executable, "-m", "venv", "venv"], outside)
        python = outside / "venv" / "bin" / "python"
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], outside)
        versions = {
            _run([str(outside / "venv" / "bin" / "shareq"), "--version"], outside),
            _run([str(python), "-m", "shareq", "--version"], outside),
        }
        materials = _run([str(python), str(ROOT / "scripts" / "sbom.py"), "shareq"], outside)
        # Every package and module, and what can be imported without pytest, Spark, kombu, taskiq and Dramatiq.
        names = {f"shareq.{path.stem}" for path in (ROOT / "src" / "shareq").iterdir() if path.is_symlink()}
        packages = "import importlib.util, shareq.client.network, shareq.spark, shareq.testing; "
        missing = f"missing = [name for name in {sorted(names)} if importlib.util.find_spec(name) is None]; "
        spark = "assert importlib.util.find_spec('pyspark_shareq'); "
        _run([str(python), "-c", packages + missing + spark + "assert not missing, missing"], outside)
        if why_not() is None:
            _run([str(python), str(ROOT / "scripts" / "check_compiled.py")], outside)
        pages = "from importlib.resources import files; page = files('shareq.ops.console') / 'static' / 'views'"
        _run([str(python), "-c", f"{pages} / 'window.js'; assert page.is_file()"], outside)
    if len(versions) != 1:
        print(f"the two ways to start print different versions: {versions}", file=sys.stderr)
        return 1
    (ROOT / "dist" / f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json").write_text(materials, "utf-8")
    print(f"{wheel.name}: {versions.pop().strip()}")
    return 0


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed with code {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
