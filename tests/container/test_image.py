"""The image and the compose file at work: its user, its health check, its two listeners, its data volume."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import javaproperties
import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.listeners import Listener
from tests.container.support.buildah import Container, Image
from tests.container.support.layout import CLIENT, DOCKER, EXAMPLE, ROOT
from tests.container.support.network import Network
from tests.support.processes import finished

pytestmark = pytest.mark.container

READY: Final = " listening on "
DATA: Final = "/var/lib/shareq"


def listeners() -> dict[str, Listener]:
    properties = javaproperties.loads((DOCKER / "server.properties").read_text())
    return {each.name: each for each in BrokerConfig.load(properties).endpoints}


def client(network: Network, bootstrap: str, *arguments: str) -> dict[str, list[str]]:
    done = run(network, sys.executable, str(CLIENT), bootstrap, *arguments)
    answer: dict[str, list[str]] = json.loads(done)
    return answer


def run(network: Network, *command: str) -> str:
    done = finished(network.inside(command), timeout_s=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_compose_file_and_the_image_fit_the_listeners(service: dict[str, Any], image: Image) -> None:
    host, containers = listeners()["HOST"], listeners()["CONTAINERS"]
    assert service["ports"] == [f"{host.advertised_host}:{host.advertised_port}:{host.port}"]
    assert (containers.advertised_host, containers.advertised_port) == ("shareq", containers.port)
    assert set(image.config["ExposedPorts"]) == {f"{host.port}/tcp", f"{containers.port}/tcp"}
    assert image.health_check[:3] == ["shareq", "check", f"127.0.0.1:{host.port}"]
    assert list(image.config["Volumes"]) == [DATA]
    config_file = "/etc/shareq/server.properties"
    assert service["volumes"] == [f"data:{DATA}", f"./server.properties:{config_file}:ro"]
    assert image.command == ["shareq", "serve", "--config", config_file, "--data-dir", DATA]
    build = service["build"]
    assert (DOCKER / build["context"]).resolve() == ROOT
    assert ROOT / build["dockerfile"] == DOCKER / "Dockerfile"


def test_the_default_base_is_the_official_slim_python_image() -> None:
    first = next(line for line in (DOCKER / "Dockerfile").read_text().splitlines() if line.startswith("ARG "))
    assert first.startswith("ARG PYTHON_IMAGE=docker.io/library/python:3.")
    assert first.endswith("-slim")


def test_nothing_of_the_build_is_left_in_the_image(container: Container) -> None:
    listed = container.execute("sh", "-c", "ls -d /src /opt/shareq/bin/pip*; id -u; stat -c %u:%a " + DATA)
    assert listed.stdout.split() == [str(container.image.uid), f"{container.image.uid}:700"]


def test_it_is_healthy_without_root_and_ends_with_0(container: Container) -> None:
    container.start(READY)
    status = Path(f"/proc/{container.main_pid()}/status").read_text().splitlines()
    fields = dict(line.split(":\t", 1) for line in status if ":\t" in line)
    uid = container.image.uid
    assert uid > 0
    assert fields["Uid"].split() == [str(uid)] * 4
    assert int(fields["CapEff"], 16) == 0

    healthy = container.execute(*container.image.health_check)
    assert (healthy.returncode, healthy.stdout, healthy.stderr) == (0, "", "")
    assert container.stop() == 0, container.log

    ill = container.execute(*container.image.health_check)
    assert ill.returncode == 1
    assert ill.stderr.startswith("shareq: 127.0.0.1:9092: Connection refused\n")


def test_the_worked_example_runs_through_the_published_port(container: Container, network: Network) -> None:
    container.start(READY)
    printed = run(network, sys.executable, str(EXAMPLE))
    assert sorted(printed.splitlines()) == [
        "a broken vase, delivery 1: REJECT",
        "apples, delivery 1: ACCEPT",
        "pears, delivery 1: RELEASE",
        "pears, delivery 2: ACCEPT",
    ]
    assert container.stop() == 0, container.log


def test_each_listener_has_its_own_address_and_the_volume_keeps_what_was_answered(
    container: Container, network: Network, data: Path
) -> None:
    container.start(READY)
    host = client(network, "127.0.0.1:9092", "kept", "from the host")
    assert host == {"brokers": ["127.0.0.1:9092"], "values": ["from the host"]}
    other = client(network, "shareq:19092", "kept", "from a container")
    assert other == {"brokers": ["shareq:19092"], "values": ["from the host", "from a container"]}
    assert container.stop() == 0, container.log
    assert (data / "meta.db").stat().st_uid == container.image.uid

    container.start(READY)
    again = client(network, "127.0.0.1:9092", "kept")
    assert again["values"] == ["from the host", "from a container"]
    assert container.stop() == 0, container.log
