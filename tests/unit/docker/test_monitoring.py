"""The alert rules and the dashboard query only exposed metrics and labels; promtool accepts them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from shareq.broker.metrics.data_folder import FAMILIES
from shareq.broker.metrics.family import Kind
from shareq.broker.metrics.shares import ACK_TYPES
from shareq.ops.export.metrics import EXPORTED
from shareq.ops.state_colours import LINES, LOOKS, Tone
from tests.support.each import for_each
from tests.support.processes import finished

DOCKER: Final = Path(__file__).parents[3] / "docker"
MONITORING: Final = DOCKER / "monitoring"
DASHBOARDS: Final = MONITORING / "grafana" / "dashboards"
DASHBOARD: Final = DASHBOARDS / "shareq.json"
OF_ANY_CLUSTER: Final = DASHBOARDS / "share-groups.json"

OF_PROMETHEUS: Final = {"up": ("job", "instance")}
OF_THE_PROCESS: Final = dict.fromkeys(
    ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"),
    ("job", "instance"),
)
OF_A_TARGET: Final = {"job", "instance"}

SHOWN_AS: Final = {
    "shareq_share_partition_lag": "lag",
    "shareq_consumer_group_lag": "lag",
    "kafka_server_share_partition_metrics_in_flight_message_count": "in flight",
    "shareq_share_partition_deliveries_total": "delivered",
    "shareq_share_partition_redeliveries_total": "redelivered",
    "kafka_server_share_partition_metrics_acquisition_lock_timeout_total": "lost",
    "shareq_share_partition_dead_letters_total": "archived",
    "shareq_dead_letters_waiting": "archiving",
    "shareq_share_partition_delays_total": "delayed",
}
"""The figure or state of each metric. All panels that show it use its colour, in shades for several groups."""
ENDS_AS: Final = {"accept": "acknowledged", "release": "available", "reject": "archived", "renew": "acquired"}

_SELECTOR: Final = re.compile(r"\b((?:shareq|kafka|process)_\w+|up)\b(?:\{([^}]*)\})?")
_MATCHER: Final = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"')
_BY: Final = re.compile(r"\b(?:by|on|without|ignoring) \(([^)]*)\)")


def exposed() -> dict[str, set[str]]:
    samples: dict[str, set[str]] = {name: set(labels) for name, labels in {**OF_PROMETHEUS, **OF_THE_PROCESS}.items()}
    for family in FAMILIES:
        suffixes = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count"), Kind.SUMMARY: ("_sum", "_count")}
        for suffix in suffixes.get(family.kind, ("",)):
            extra = {"le"} if suffix == "_bucket" else set()
            samples[family.name + suffix] = {*family.labels, *OF_A_TARGET, *extra}
    return samples


def alerts() -> list[dict[str, Any]]:
    return [rule for group in read(MONITORING / "alerts.yml")["groups"] for rule in group["rules"]]


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def panels(dashboard: Path = DASHBOARD) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard.read_text())["panels"]
    return found


def dashboard_queries(dashboard: Path = DASHBOARD) -> Iterator[str]:
    for panel in panels(dashboard):
        for target in panel.get("targets", ()):
            yield target["expr"]


def of_variables(dashboard: Path) -> list[str]:
    variables = json.loads(dashboard.read_text())["templating"]["list"]
    return [each["definition"] for each in variables if each["type"] == "query"]


def queries() -> list[str]:
    return [*(rule["expr"] for rule in alerts()), *dashboard_queries(), *of_variables(DASHBOARD)]


def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is missing (Debian: prometheus)")
    return found


def run(*command: str, cwd: Path) -> str:
    done = finished(command, cwd=cwd, timeout_s=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@for_each("query", queries())
def test_a_query_names_what_is_exposed_and_labels_that_it_has(query: str) -> None:
    check(query, exposed())


@for_each("query", [*dashboard_queries(OF_ANY_CLUSTER), *of_variables(OF_ANY_CLUSTER)])
def test_a_query_about_any_cluster_names_what_is_exported(query: str) -> None:
    check(query, {each.name: {*each.labels, *OF_A_TARGET, "cluster"} for each in EXPORTED})


def test_the_exporter_says_nothing_else_by_a_name_that_a_broker_has() -> None:
    of_brokers = exposed()
    shared = {each.name: set(each.labels) | OF_A_TARGET for each in EXPORTED if each.name in of_brokers}
    assert shared == {name: of_brokers[name] for name in shared}
    assert len(shared) == 3


def check(query: str, samples: Mapping[str, set[str]]) -> None:
    selectors = _SELECTOR.findall(_BY.sub("", query))
    assert selectors
    assert {name for name, _ in selectors} <= samples.keys()
    labels = set.union(*(samples[name] for name, _ in selectors))
    for name, matchers in selectors:
        assert set(_MATCHER.findall(matchers)) <= samples[name], name
    for names in _BY.findall(query):
        assert {name.strip() for name in names.split(",")} <= labels


def test_alerts_have_a_name_of_their_own_a_severity_and_a_sentence_with_labels_that_are_left() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    for rule in alerts():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        kept = _BY.search(rule["expr"])
        used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        if kept is not None:
            assert used <= {name.strip() for name in kept.group(1).split(",")}, rule["alert"]


def test_every_alert_is_documented() -> None:
    text = (DOCKER.parent / "docs" / "operating.md").read_text()
    documented = re.findall(r"^\| `(Shareq\w+)`", text, re.MULTILINE)
    assert documented == [rule["alert"] for rule in alerts()]


@pytest.mark.parametrize("dashboard", [DASHBOARD, OF_ANY_CLUSTER], ids=lambda path: path.name)
def test_panels_have_places_of_their_own(dashboard: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels(dashboard):
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells)
        taken |= cells
    assert len({panel["id"] for panel in panels(dashboard)}) == len(panels(dashboard))


def tone(name: str) -> Tone:
    figures, states = ({str(key): each.tone for key, each in table.items()} for table in (LINES, LOOKS))
    return {**figures, **states}[name]


def colours(panel: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (each["matcher"]["id"], each["matcher"]["options"]): setting["value"]["fixedColor"]
        for each in panel["fieldConfig"]["overrides"]
        for setting in each["properties"]
        if setting["id"] == "color" and setting["value"]["mode"] == "shades"
    }


def test_panels_show_a_figure_in_the_colour_and_by_the_name_that_it_has_in_the_console() -> None:
    shown = set()
    for panel in panels():
        targets = panel.get("targets", ()) if panel["type"] == "timeseries" else ()
        for target in targets:
            for name in SHOWN_AS.keys() & set(re.findall(r"\w+", target["expr"])):
                figure = SHOWN_AS[name]
                shown.add(name)
                assert colours(panel)["byFrameRefID", target["refId"]] == tone(figure).either, panel["title"]
                assert len(targets) == 1 or target["legendFormat"].endswith(f" {figure}"), panel["title"]
    assert shown == SHOWN_AS.keys()


def test_acknowledgements_have_the_colour_of_the_state_that_they_lead_to() -> None:
    assert [kind.name.lower() for kind in ACK_TYPES] == list(ENDS_AS)
    (panel,) = (each for each in panels() if "acknowledgements_total" in str(each.get("targets")))
    assert panel["targets"][0]["legendFormat"].endswith(" {{ack_type}}")
    assert colours(panel) == {("byRegexp", f"/ {kind}$/"): tone(state).either for kind, state in ENDS_AS.items()}


def test_prometheus_scrapes_the_port_that_the_broker_gets_and_no_other_machine_reaches_them() -> None:
    services = read(DOCKER / "compose.monitoring.yaml")["services"]
    (port,) = (each for each in services["shareq"]["command"] if each.startswith("--metrics="))
    (job,) = read(MONITORING / "prometheus.yml")["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"shareq:{port.rpartition(':')[2]}"]}]
    assert "ports" not in services["shareq"]
    for name in ("prometheus", "grafana"):
        assert all(each.startswith("127.0.0.1:") for each in services[name]["ports"])
    mounted = [each for service in services.values() for each in service.get("volumes", ()) if each.startswith("./")]
    assert all((DOCKER / each.partition(":")[0]).exists() for each in mounted)
    source = read(MONITORING / "grafana/provisioning/datasources/prometheus.yml")["datasources"][0]
    assert source["url"] == f"http://prometheus:{services['prometheus']['ports'][0].rpartition(':')[2]}"


def test_promtool_takes_the_configuration_and_the_rules_do_what_their_tests_say() -> None:
    tool = promtool()
    run(tool, "check", "config", "prometheus.yml", cwd=MONITORING)
    run(tool, "test", "rules", "alerts.test.yml", cwd=MONITORING)


def test_promtool_takes_the_queries_of_the_dashboard(tmp_path: Path) -> None:
    tool = promtool()
    rules = [
        {"record": f"query_{number}", "expr": query.replace("$__rate_interval", "1m").replace("$", "")}
        for number, query in enumerate([*dashboard_queries(), *dashboard_queries(OF_ANY_CLUSTER)])
    ]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in run(tool, "check", "rules", "rules.yml", cwd=tmp_path)
