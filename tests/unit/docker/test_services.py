"""The systemd unit and the Kubernetes manifest: their validators accept them, and they fit broker and image."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.sources.environment import environment_properties
from shareq.broker.metrics.endpoint import HEALTH_PATH, READY_PATH
from shareq.ops.cli.main import main
from tests.support.processes import finished

DOCKER: Final = Path(__file__).parents[3] / "docker"
UNIT: Final = DOCKER / "shareq.service"
MANIFEST: Final = DOCKER / "kubernetes.yaml"
NODES_MANIFEST: Final = DOCKER / "kubernetes-nodes.yaml"
NODES: Final = DOCKER / "compose.nodes.yaml"
MOST_EXPOSURE: Final = 20  # tenths, of `systemd-analyze security`: up to 20 is called OK


def resources() -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in yaml.safe_load_all(MANIFEST.read_text())}


def pod() -> dict[str, Any]:
    found: dict[str, Any] = resources()["StatefulSet"]["spec"]["template"]["spec"]
    return found


def container() -> dict[str, Any]:
    (only,) = pod()["containers"]
    found: dict[str, Any] = only
    return found


def unit(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)


def options_of_serve() -> set[str]:
    return set(re.findall(r"--[a-z-]+", CliRunner().invoke(main, ["serve", "--help"]).output))


def analyze(tmp_path: Path, *arguments: str) -> None:
    """Analyse the unit with systemd, with an existing program in place of the broker."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is missing (Debian: systemd)")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/shareq/bin/shareq", sys.executable))
    done = finished([tool, *arguments, str(copy)], timeout_s=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze(tmp_path, "verify")


def test_systemd_finds_the_unit_well_shut_off(tmp_path: Path) -> None:
    analyze(tmp_path, "security", "--offline=yes", "--no-pager", f"--threshold={MOST_EXPOSURE}")


def test_the_image_has_all_that_a_client_may_ask_for() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    assert "ARG EXTRAS=[re2]\n" in text
    assert '/wheels/shareq-*.whl)$EXTRAS"' in text


def test_the_image_installs_by_hash_what_it_needs() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    for lock in ("requirements.lock", "requirements-re2.lock", "build-requirements.lock"):
        assert f"--require-hashes --requirement /locks/{lock}" in text
        assert (DOCKER / lock).is_file()


def test_the_unit_has_options_that_the_broker_has_and_a_folder_of_its_own() -> None:
    (command,) = unit("ExecStart")
    assert set(re.findall(r"--[a-z-]+", command)) <= options_of_serve()
    assert f"--data-dir /var/lib/{unit('StateDirectory')[0]}" in command
    assert unit("StateDirectoryMode") == ["0700"]
    assert unit("User") == unit("Group") == ["shareq"]
    assert "ExecReload" not in UNIT.read_text().replace("No ExecReload", "")
    assert not any("@resources" in each for each in unit("SystemCallFilter")), "it raises its limit of open files"


def test_kubernetes_takes_the_manifest() -> None:
    command = [str(Path(sys.executable).with_name("kubernetes-validate")), "--strict", str(MANIFEST)]
    done = finished(command, timeout_s=120)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in resources():
        assert f"passed for resource {kind.lower()}/shareq" in done.stdout + done.stderr


def test_the_container_has_options_that_the_broker_has_and_nothing_it_need_not() -> None:
    arguments = container()["args"]
    assert {each.partition("=")[0] for each in arguments[1:]} <= options_of_serve()
    assert arguments[0] == "serve"
    security = container()["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    of_pod = pod()["securityContext"]
    assert of_pod["runAsNonRoot"] is True
    user, _, group = re.findall(r"^USER (.*)$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)[0].partition(":")
    assert (of_pod["runAsUser"], of_pod["runAsGroup"], of_pod["fsGroup"]) == (int(user), int(group), int(group))
    assert pod()["enableServiceLinks"] is False
    assert resources()["StatefulSet"]["spec"]["replicas"] == 1


def test_the_data_are_on_the_volume_and_probes_at_the_metrics() -> None:
    arguments = dict(each.partition("=")[::2] for each in container()["args"])
    (claim,) = resources()["StatefulSet"]["spec"]["volumeClaimTemplates"]
    mounts = {each["name"]: each["mountPath"] for each in container()["volumeMounts"]}
    assert arguments["--data-dir"].startswith(f"{mounts[claim['metadata']['name']]}/")
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert ports == {
        "kafka": int(arguments["--listen"].rpartition(":")[2]),
        "metrics": int(arguments["--metrics"].rpartition(":")[2]),
    }
    assert {each["targetPort"] for each in resources()["Service"]["spec"]["ports"]} == set(ports)
    probes = {name: container()[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
    assert {name: each["path"] for name, each in probes.items()} == {
        "startup": HEALTH_PATH,
        "liveness": HEALTH_PATH,
        "readiness": READY_PATH,
    }
    assert {each["port"] for each in probes.values()} == {"metrics"}


def test_the_service_finds_the_pods_and_clients_are_sent_to_it() -> None:
    name = resources()["Service"]["metadata"]["name"]
    template = resources()["StatefulSet"]["spec"]["template"]
    assert resources()["Service"]["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    assert resources()["StatefulSet"]["spec"]["serviceName"] == name
    assert f"--advertise={name}.$(NAMESPACE).svc:9092" in container()["args"]


# -- nodes before a cluster


def test_kubernetes_takes_the_manifest_of_nodes() -> None:
    command = [str(Path(sys.executable).with_name("kubernetes-validate")), "--strict", str(NODES_MANIFEST)]
    done = finished(command, timeout_s=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {each["kind"]: each for each in yaml.safe_load_all(NODES_MANIFEST.read_text())}
    for kind in found:
        assert f"passed for resource {kind.lower()}/shareq-nodes" in done.stdout + done.stderr
    (only,) = found["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert {each.partition("=")[0] for each in only["args"][1:]} <= options_of_serve()
    name = found["Service"]["metadata"]["name"]
    assert f"--advertise=$(POD).{name}.$(NAMESPACE).svc:9092" in only["args"]
    assert found["StatefulSet"]["spec"]["serviceName"] == name
    assert only["readinessProbe"]["httpGet"]["path"] == READY_PATH
    nodes = found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items()
    assert nodes <= found["StatefulSet"]["spec"]["template"]["metadata"]["labels"].items()
    assert not any("data-dir" in each for each in only["args"])


def test_the_composed_nodes_differ_by_their_addresses_and_reach_each_other() -> None:
    services = yaml.safe_load(NODES.read_text())["services"]
    nodes = {name: each for name, each in services.items() if name.startswith("node-")}
    brokers = [name for name in services if name.startswith("kafka-")]
    assert len(nodes) == 2
    for name, node in nodes.items():
        assert node["command"] == ["shareq", "serve", f"--cluster={','.join(f'{each}:9092' for each in brokers)}"]
        published = node["ports"][0].rpartition(":")[0]
        host, _, port = published.partition(":")
        properties = environment_properties(node["environment"])
        assert properties.pop("insecure", "true") == "true"
        config = BrokerConfig.load(properties)
        inside, outside = config.endpoints
        assert (inside.advertised_host, inside.advertised_port, inside.port) == (name, 19092, 19092)
        assert (outside.advertised_host, outside.advertised_port, outside.port) == (host, int(port), 9092)
