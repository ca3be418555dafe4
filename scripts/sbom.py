"""Print a bill of materials (CycloneDX 1.6, JSON) of a distribution and its installed dependencies.

`python sbom.py shareq`, by the Python of the environment that has them; extras are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any, Final

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def bill(name: str) -> dict[str, Any]:
    """Return the document. Raises PackageNotFoundError for a distribution that is not installed."""
    root = distribution(name)
    found = {_canonical(name): root}
    edges: dict[str, list[str]] = {}
    waiting = [_canonical(name)]
    while waiting:
        at = waiting.pop()
        needed = dict(_needed(found[at]))
        edges[_purl(found[at])] = sorted(_purl(each) for each in needed.values())
        waiting += [each for each in needed if each not in found]
        found |= needed
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(root, "application")},
        "components": [_component(found[each], "library") for each in sorted(found) if found[each] is not root],
        "dependencies": [{"ref": ref, "dependsOn": edges[ref]} for ref in sorted(edges)],
    }


def _needed(of: Distribution) -> Iterator[tuple[str, Distribution]]:
    """Yield each installed dependency, after its name. Requirements of extras and those not installed are left out."""
    for requirement in of.requires or ():
        wish, _, marker = requirement.partition(";")
        match = _NAME.match(wish.strip())
        if match is None or "extra ==" in marker:
            continue
        try:
            yield _canonical(match[0]), distribution(match[0])
        except PackageNotFoundError:
            continue


def _component(of: Distribution, kind: str) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": kind,
        "bom-ref": _purl(of),
        "name": _canonical(of.metadata["Name"]),
        "version": of.version,
        "purl": _purl(of),
    }
    if "License-Expression" in of.metadata:
        component["licenses"] = [{"expression": of.metadata["License-Expression"]}]
    return component


def _purl(of: Distribution) -> str:
    return f"pkg:pypi/{_canonical(of.metadata['Name'])}@{of.version}"


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    print(json.dumps(bill(sys.argv[1]), indent=2))
