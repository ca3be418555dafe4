"""Imports before the broker listens: each module, and each dataclass in it, delays the start."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_IMPORT = """
import json, sys
import shareq.broker.process.server, shareq.broker.data_folder_ground

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


_NOT_ASKED_FOR = (
    "aiohttp",
    "shareq.broker.process.http.console",
    "shareq.client",
    "shareq.cluster",
    "subprocess",
    "asyncio.subprocess",
)


def test_without_a_console_or_a_cluster_nothing_of_them_is_imported() -> None:
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


_NODE = """
import sys, shareq.ops.cli.main, shareq.cluster.command
from shareq.broker.process.serve import _steps_to_come
from shareq.cluster.link.versions import Served
from shareq.cluster.node.ground import NodeGround
from shareq.cluster.node.table import node_table
from shareq.protocol.api_keys import ApiKey

handlers = node_table(Served({key: (0, 99) for key in ApiKey}, {}))
for step in _steps_to_come(handlers.values(), NodeGround.first_used, scram=False):
    step()
print(*sys.modules)
"""
_OF_OTHERS = (
    "shareq.broker.data_folder",
    "shareq.broker.log.cleaner.cleaning",
    "shareq.broker.log.manager",
    "shareq.broker.log.recovery",
    "shareq.broker.redrive",
    "shareq.broker.transactions",
    "shareq.client.admin",
    "shareq.client.network",
    "shareq.client.share",
    "shareq.coordinator.transaction",
    "sqlite3",
)
"""The modules that a node must not import: only brokers with a data folder, or blocking clients, need them."""


def test_a_node_imports_nothing_that_only_a_data_folder_or_another_client_needs() -> None:
    """Neither the start nor idle time imports such modules, which took 3 MB of the 60 that an idle node may use."""
    ran = subprocess.run([sys.executable, "-c", _NODE], capture_output=True, text=True, check=True)
    modules = ran.stdout.split()
    assert {"shareq.cluster.node.ground", "shareq.cluster.forward.handlers.produce"} <= set(modules)
    assert [name for name in modules if name.startswith(_OF_OTHERS)] == []


_WARM_UP = """
import sys
from shareq.broker.data_folder_ground import DataFolderGround as ground
from shareq.broker.process.serve import _steps_to_come
for step in _steps_to_come(ground.handlers.values(), ground.first_used, scram=False):
    step()
print(*sys.modules)
"""
_WHERE_CONFIGURED = {
    "javaproperties": "of a start with files of secrets",
    "shareq.broker.config.keys.known_names": "of a start with names that it does not know",
    "shareq.broker.config.oauth_properties": "of listeners with OAuth",
    "shareq.broker.config.sources.environment": "of a start with variables",
    "shareq.broker.config.sources.providers": "of a start with files of secrets",
    "shareq.broker.config.tls_properties": "of listeners with TLS",
    "shareq.broker.network.audit_log": "of a broker with an authorizer",
    "shareq.broker.security.authorizer": "of a broker with an authorizer",
    "shareq.broker.security.invented_credentials": "of listeners with SCRAM, made before they open",
    "shareq.protocol.jaas": "of listeners with SASL",
    "scramp": "of listeners with SCRAM, which have a step of it",
    "shareq.broker.share.core.window.key_order": "of groups with order by key: 6 ms, once",
    "shareq.broker.share.ordered.ahead": "of groups with order by key: 3 ms, once",
    "shareq.broker.share.ordered.kept_reads": "of groups with order by key",
    "shareq.broker.share.dated_records": "of groups with delays or a time to live",
    "shareq.broker.share.core.transactions.ending": "of groups with acknowledgements in transactions",
    "shareq.broker.share.core.transactions.staging": "of groups with acknowledgements in transactions",
    "shareq.broker.share_transactions": "of groups with acknowledgements in transactions",
    "shareq.broker.share.dlq.breakers": "of groups with a breaker",
    "shareq.broker.share.dlq.queues": "of groups with a dead-letter queue: 4 ms, once",
    "shareq.broker.share.dlq.broker_queues": "of groups with a dead-letter queue",
    "shareq.broker.redrive.service": "of redrives: 4 ms, once",
    "shareq.broker.redrive.world": "of redrives",
    "re2": "of patterns, where it is installed: 2 ms, once",
    "ctypes": "of a sync of the whole disk: 1 ms, once",
    "termios": "of clients that take no answers",
}
"""The modules that are imported only if they are configured, which cost little in that case."""
_APART = {"process", "maintenance"}
"""The folders of start and stop, and of other commands."""


def imported_late(file: Path) -> Iterator[str]:
    for function in ast.walk(ast.parse(file.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module
                elif isinstance(node, ast.Import):
                    yield from (each.name for each in node.names)


def test_what_requests_would_import_is_imported_in_idle_time_after_the_start() -> None:
    root = Path(__file__).resolve().parents[4]
    files = [file for folder in ("broker", "coordinator") for file in sorted((root / folder).rglob("*.py"))]
    late = {name for file in files if not _APART & set(file.parts) for name in imported_late(file)}
    assert {"shareq.broker.groups.service", "shareq.broker.share.coordinator"} <= late
    ran = subprocess.run([sys.executable, "-c", _WARM_UP], capture_output=True, text=True, check=True)
    assert late - set(ran.stdout.split()) - _WHERE_CONFIGURED.keys() == set()
