"""Small schemas for tests of the generator."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from shareq.protocol.generator.codec import module_text
from shareq.protocol.generator.spec import parse_message


def field(name: str, of: str, **keys: Any) -> dict[str, Any]:
    """Return a field of all versions, unless `keys` says otherwise."""
    return {"name": name, "type": of, "versions": "0+"} | keys


def message(*fields: dict[str, Any], **keys: Any) -> str:
    """Return a request of versions 0-3, flexible from 2, unless `keys` says otherwise."""
    base = {
        "apiKey": 7,
        "type": "request",
        "name": "TestRequest",
        "validVersions": "0-3",
        "flexibleVersions": "2+",
        "fields": list(fields),
    }
    return json.dumps(base | keys)


def generated_text(*texts: str) -> str:
    return module_text([parse_message(text, "rpc/Test.json") for text in texts], "4.3.1")


def generated_module(*texts: str) -> ModuleType:
    module = ModuleType("generated_for_a_test")
    exec(compile(generated_text(*texts), str(Path("generated_for_a_test.py")), "exec"), module.__dict__)  # our own text
    return module
