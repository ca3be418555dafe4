"""The Helm chart: its linter accepts it, and it renders the manifest, changed as the values say."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from scripts.release import version
from tests.support.processes import finished
from tests.unit.docker.test_services import DOCKER, options_of_serve, resources

CHART: Final = DOCKER / "helm"
OTHER_VALUES: Final = """
insecure: false
image: { repository: registry.example.com/shareq, tag: "0.2.0-rc1" }
imagePullSecrets: [{ name: registry }]
properties: { log.retention.hours: 24, log.retention.bytes: 107374182400, auto.create.topics.enable: false }
extraArgs: ["--log-level=DEBUG"]
extraEnv: [{ name: SHAREQ_SASL_JAAS, valueFrom: { secretKeyRef: { name: shareq, key: jaas } } }]
storage: { size: 1Ti, className: fast }
networkPolicy: false
"""


def helm(*words: str) -> str:
    tool = shutil.which("helm")
    if tool is None:
        pytest.skip("helm is missing")
    done = finished([tool, *words], timeout_s=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rendered(*words: str) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in yaml.safe_load_all(helm("template", "shareq", str(CHART), *words)) if each}


def test_the_chart_is_of_this_release() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == version()


def test_its_linter_takes_it() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def test_without_values_it_is_the_manifest() -> None:
    found = rendered()
    (container,) = found["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert (container.pop("image"), container.pop("imagePullPolicy")) == (f"shareq:{version()}", "IfNotPresent")
    container["image"] = "shareq"
    assert found == resources()


def test_other_values_are_taken_by_kubernetes_and_the_broker(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(OTHER_VALUES)
    text = helm("template", "jobs", str(CHART), "--values", str(tmp_path / "values.yaml"))
    (tmp_path / "manifest.yaml").write_text(text)
    command = [str(Path(sys.executable).with_name("kubernetes-validate")), "--strict", str(tmp_path / "manifest.yaml")]
    done = finished(command, timeout_s=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {each["kind"]: each for each in yaml.safe_load_all(text) if each}
    assert found.keys() == {"Service", "ConfigMap", "StatefulSet"}
    assert found["ConfigMap"]["data"]["server.properties"].splitlines() == [
        "auto.create.topics.enable=false",
        "log.retention.bytes=107374182400",
        "log.retention.hours=24",
    ]
    (container,) = found["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/shareq:0.2.0-rc1"
    assert {each.partition("=")[0] for each in container["args"][1:]} <= options_of_serve()
    assert "--config=/etc/shareq/server.properties" in container["args"]
    assert not [each for each in container["args"] if each.startswith("--listen")]
    assert [each["name"] for each in container["env"]] == ["NAMESPACE", "SHAREQ_SASL_JAAS"]


def test_a_value_that_there_is_not_is_refused() -> None:
    tool = shutil.which("helm")
    if tool is None:
        pytest.skip("helm is missing")
    done = finished([tool, "template", "shareq", str(CHART), "--set", "replicas=3"], timeout_s=60)
    assert done.returncode == 1
    assert "'replicas' not allowed" in done.stderr
