"""What a start imports before it listens: each module, and each dataclass among them, makes it later."""

from __future__ import annotations

import json
import subprocess
import sys

_IMPORT = """
import json, sys
import shareq.broker.process.server

def made_here(module):
    return [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]

ours = [module for name, module in sys.modules.items() if name.startswith("shareq.")]
slow = [f"{each.__module__}.{each.__name__}" for module in ours for each in made_here(module)
        if "__dataclass_fields__" in vars(each)]
print(json.dumps({"modules": sorted(sys.modules), "slow": slow}))
"""
_LATER = (
    "cramjam",
    "cryptography",
    "shareq.broker.config.tls_properties",
    "shareq.broker.groups",
    "shareq.broker.handlers.groups",
    "shareq.broker.log.recovery",
    "shareq.broker.network.tls",
    "shareq.broker.process.tls",
    "shareq.broker.security.tls",
)


_NOT_ASKED_FOR = ("aiohttp", "shareq.broker.process.http.console", "shareq.client", "subprocess", "asyncio.subprocess")


def test_without_a_console_nothing_of_it_is_imported() -> None:
    script = "import sys, shareq.ops.cli.main, shareq.broker.process.serve; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys, asyncio; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    modules = set(ran.stdout.split()) - set(bare.stdout.split())
    assert "shareq.broker.process.server" in modules
    assert [name for name in modules if name.startswith(_NOT_ASKED_FOR)] == []


def test_a_start_imports_neither_what_can_wait_nor_dataclasses() -> None:
    ran = subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True)
    seen = json.loads(ran.stdout)
    assert "shareq.broker.log.manager" in seen["modules"]
    assert [name for name in seen["modules"] if name.startswith(_LATER)] == []
    assert seen["slow"] == []
