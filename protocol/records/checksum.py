"""CRC-32C, from the `crc32c` package's extension module alone.

The package's `__init__` asks `importlib.metadata` for its own version, which takes longer than all other imports of
this layer. A broker that has to start in a tenth of a second avoids it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Final, cast

Checksum = Callable[..., int]


def _load() -> Checksum:
    package = find_spec("crc32c")
    if package is not None and package.submodule_search_locations is not None:
        spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return cast(Checksum, module.crc32c)
    from crc32c import crc32c as packaged

    return cast(Checksum, packaged)


crc32c: Final = _load()
