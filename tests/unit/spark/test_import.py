"""`import shareq.spark` without PySpark or with an old one: it works, and later calls report it in one line."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from importlib import metadata

import pytest

import shareq.spark
from shareq.spark import versions
from shareq.spark.versions import PySparkNeeded

WITHOUT = importlib.util.find_spec("pyspark") is None


@pytest.mark.skipif(not WITHOUT, reason="PySpark is installed here")
def test_without_pyspark_there_is_one_clear_error() -> None:
    for use in (shareq.spark.register, lambda: shareq.spark.KafkaShareSource):
        with pytest.raises(
            PySparkNeeded, match=r"^shareq.spark needs PySpark 4.2 or newer: pip install 'shareq\[spark\]'$"
        ):
            use()


@pytest.mark.parametrize("version", ["4.1.2", "3.5.0", "4.0.0.dev2"])
def test_an_older_pyspark_is_named(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    with pytest.raises(PySparkNeeded, match=rf"PySpark 4.2 or newer: .* \(this is {version}\)"):
        shareq.spark.register()


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0.dev1", "5.0.0"])
def test_a_newer_one_will_do(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    versions.check_pyspark()


def test_importing_it_imports_neither_pyspark_nor_pyarrow() -> None:
    """Spark's own processes import the module often, and so do tools without PySpark."""
    code = "import sys, shareq.spark; print([name for name in ('pyspark', 'pyarrow', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Source'"):
        _ = shareq.spark.Source
