"""Options of `shareq serve` for nodes: those that do not go with --cluster, and the effects of the others."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.config.keys.node import FIRST_NODE_ID
from shareq.broker.foundation.environment import Environment
from shareq.broker.process.serve import Wanted
from shareq.broker.process.sockets import ServeError
from shareq.broker.topics.endpoint import Endpoint
from shareq.ops.cli.serve import command as serve
from shareq.ops.cli.serve_options import ServeOptions, wanted_of
from shareq.ops.cli.shared.exits import USAGE, CommandEnd


def wanted(*arguments: str) -> Wanted:
    return wanted_of(ServeOptions(**serve.make_context("shareq serve", list(arguments)).params), {})


GUARDED = (
    "--set",
    "listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT",
    "--set",
    "sasl.enabled.mechanisms=SCRAM-SHA-512",
)


async def test_nodes_that_could_not_ask_each_other_are_refused(tmp_path: Path) -> None:
    """The nodes' first listener requires a login, and no option says which one to use."""
    start = ("--cluster", "127.0.0.1:1", "--set", "shareq.cluster.placement=topic", *GUARDED)
    node = wanted(*start).ground
    assert node is not None
    clock = VirtualClock()
    environment = Environment(clock, Random(1), MemFs(clock.call_soon))
    with pytest.raises(ServeError, match="--node-config has to name a file") as refused:
        await node.make(environment, {"PLAINTEXT": Endpoint(1, "127.0.0.1", 9092)})
    assert refused.value.usage
    file = tmp_path / "nodes.properties"
    file.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=TELEPATHY\n")
    with pytest.raises(CommandEnd) as end:
        wanted(*start, "--node-config", str(file))
    assert "sasl.mechanism" in end.value.message


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--cluster", "a:1", "--data-dir", "x"], "--data-dir: a node keeps no data"),
        (["--cluster", "a:1", "--ephemeral"], "--ephemeral: what a node confirms is kept by the cluster"),
        (
            ["--cluster", "a:1", "--feature", "share.version=1"],
            "--feature: the levels of features are those of the clu",
        ),
        (["--cluster-config", "x"], "--cluster-config, --node-config and --no-proxy need --cluster"),
        (["--node-config", "x"], "--cluster-config, --node-config and --no-proxy need --cluster"),
        (["--no-proxy"], "--cluster-config, --node-config and --no-proxy need --cluster"),
        (["--cluster", "a:1", "--node-config", "/absent"], "--node-config /absent: No such file or directory"),
        (
            ["--cluster", "a:1", "--set", "shareq.cluster.placement=zone"],
            "Invalid value zone for configuration shareq.cluster.placement: ",
        ),
        (["--cluster", "a"], "--cluster a: bootstrap.servers: 'a': 'a' is not HOST:PORT"),
        (["--cluster", "a:1", "--cluster-config", "/absent"], "--cluster-config /absent: No such file or directory"),
        (
            ["--cluster", "a:1", "--set", "shareq.cluster.heartbeat.interval.ms=5000"],
            "Invalid value 5000 for configuration shareq.cluster.heartbeat.interval.ms: must be at most a third of "
            "shareq.cluster.session.timeout.ms (2000)",
        ),
    ],
)
def test_what_cannot_be_is_one_line_and_code_2(arguments: list[str], line: str) -> None:
    with pytest.raises(CommandEnd) as end:
        wanted(*arguments)
    assert end.value.code == USAGE
    assert end.value.message.startswith(line)
    assert "\n" not in end.value.message


def test_a_node_has_a_number_and_a_ground_of_its_own() -> None:
    node = wanted("--cluster", "a:1,b:2", "--listen", "127.0.0.1:9092")
    assert node.ground is not None
    assert node.config.node_id >= FIRST_NODE_ID
    assert {each.name: each.port for each in node.config.endpoints} == {"PLAINTEXT": 9092}
    assert node.config.warnings == ()
    assert wanted("--listen", "127.0.0.1:9092").ground is None


def test_the_properties_of_a_client_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=u\nsasl.password=p\n")
    file.chmod(0o644)
    assert wanted("--cluster", "a:1", "--cluster-config", str(file)).ground is not None
    assert capsys.readouterr().err == f"shareq: --cluster-config {file}: other users can read it: chmod 600 {file}\n"
    file.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=TELEPATHY\n")
    with pytest.raises(CommandEnd) as end:
        wanted("--cluster", "a:1", "--cluster-config", str(file))
    assert "sasl.mechanism" in end.value.message
