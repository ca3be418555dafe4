"""The image's packages: the locks match pyproject.toml, and the check finds any difference."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOCK = script("lock")
HASH = "0" * 64
SOUND = f"click==8.4.2 \\\n    --hash=sha256:{HASH}\n"


@pytest.mark.parametrize("name", sorted(LOCK.wanted()))
def test_the_lock_has_what_pyproject_asks_for(name: str) -> None:
    text = (ROOT / "docker" / name).read_text()
    assert LOCK.faults(LOCK.wanted()[name], text) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "click is missing"),
        (SOUND.replace("8.4.2", "8.1.0"), "click==8.1.0 is not click>=8.3.3"),
        ("click==8.4.2\n", "cannot be read: click==8.4.2"),
        (SOUND.replace(HASH, "0" * 63), "click is missing"),
    ],
)
def test_a_lock_that_is_another_one_is_found_out(text: str, fault: str) -> None:
    assert fault in LOCK.faults(["click>=8.3.3"], text)


def test_a_lock_is_read_as_it_is_written() -> None:
    text = LOCK.text_of(["click>=8.3.3"], {"click": ("8.4.2", {HASH, "1" * 64})})
    assert LOCK.faults(["click>=8.3.3"], text) == []
    assert text.count("--hash=sha256:") == 2


def test_what_compiles_is_what_the_build_asks_for() -> None:
    text = (ROOT / "hatch_build.py").read_text()
    assert re.findall(r'"([^"]+)"', text.split("return [")[1].split("]) if")[0].split("] if")[0]) == LOCK.COMPILERS


def test_the_bill_of_materials_names_what_is_installed() -> None:
    bill = script("sbom").bill("shareq")
    names = {component["name"] for component in bill["components"]}
    assert {"click", "cramjam", "xxhash", "prometheus-client", "scramp"} <= names
    assert not names & {"pyspark", "aiohttp", "pytest"}, "extras and tests are left out"
    refs = {component["bom-ref"] for component in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {row["ref"] for row in bill["dependencies"]} == refs
    assert all(set(row["dependsOn"]) <= refs for row in bill["dependencies"])
