"""Both forms of the modules with passes: the Python sources, and the compiled modules."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType

from shareq.protocol.passes import FOLDER


def as_python(name: str) -> ModuleType:
    """Return a pass module's Python form, whichever form runs elsewhere."""
    spec = importlib.util.spec_from_file_location(f"{name}_as_python", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(name: str) -> ModuleType | None:
    """Return a pass module's compiled form; None where the Python form runs."""
    module = import_module(f"shareq.protocol.passes.{name}")
    return module if (module.__file__ or "").endswith(tuple(EXTENSION_SUFFIXES)) else None
