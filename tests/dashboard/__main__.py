"""`make dashboard`: send the dashboard's queries to a real Prometheus while a broker is at work, then stop the broker
and wait for the alert. Exit code 1 if a query or a variable has no result, or the alert does not come.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from devtools.kafka.certificates import why_unavailable as why_no_certificates
from tests.dashboard import dashboard, page, prometheus
from tests.dashboard.load import Load

RATE_INTERVAL: Final = "15s"
ALERT: Final = "ShareqDown"
ALERT_WAITS_S: Final = 150.0
"""The seconds to wait for the alert: its rule waits a minute, and scrapes and evaluations take more."""


def main() -> int:
    options = _options()
    missing = prometheus.why_unavailable() or why_no_certificates()
    if missing:
        print(f"dashboard: {missing}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="shareq-dashboard-") as name:
        return _look(Path(name), options)


def _look(folder: Path, options: argparse.Namespace) -> int:
    with Load(folder) as load, prometheus.Prometheus(folder / "prometheus", load.metrics, options.scrape) as server:
        time.sleep(options.seconds)
        found = answers(server, options.seconds)
        silent = without_series(found) + without_values(server)
        asked = sum(len(panel.queries) for panel, _ in found)
        filled = sum(bool(panel.queries) for panel, _ in found)
        print(f"{asked} queries in {filled} panels; queries and variables without an answer: {len(silent)}")
        for each in silent:
            print(f"no answer: {each}")
        if options.image:
            _draw(found, options.image, folder)
        load.quiet()
        failed = load.failures
        for each in failed:
            print(f"client failed: {each}")
        late = not options.no_alert and not _alert_fires(load, server)
    return int(bool(silent or failed or late))


def answers(
    server: prometheus.Prometheus, seconds: float
) -> list[tuple[dashboard.Panel, list[tuple[dashboard.Query, list[prometheus.Series]]]]]:
    return [
        (panel, [(query, server.over(query.expression, seconds)) for query in panel.queries])
        for panel in dashboard.panels(RATE_INTERVAL)
    ]


def without_series(
    found: list[tuple[dashboard.Panel, list[tuple[dashboard.Query, list[prometheus.Series]]]]],
) -> list[str]:
    return [
        f"{panel.title}: {query.expression}"
        for panel, queries in found
        for query, series in queries
        if not any(math.isfinite(value) for each in series for _, value in each.points)
    ]


def without_values(server: prometheus.Prometheus) -> list[str]:
    return [
        f"variable {each.name}: {each.expression}"
        for each in dashboard.variables()
        if not server.values_of(each.expression, each.label)
    ]


def _alert_fires(load: Load, server: prometheus.Prometheus) -> bool:
    print("rules while the broker worked: " + _states(server))
    load.kill_broker()
    began = time.monotonic()
    while (state := server.rules()[ALERT]) != "firing" and time.monotonic() - began < ALERT_WAITS_S:
        time.sleep(0.5)
    print(f"{ALERT} is {state} {time.monotonic() - began:.0f} s after the broker was killed")
    return state == "firing"


def _states(server: prometheus.Prometheus) -> str:
    states = server.rules()
    awake = [f"{name} {state}" for name, state in states.items() if state != "inactive"]
    return f"{len(states)} loaded, " + (", ".join(awake) or "none pending or firing")


def _draw(
    found: list[tuple[dashboard.Panel, list[tuple[dashboard.Query, list[prometheus.Series]]]]],
    image: Path,
    folder: Path,
) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("dashboard: chromium is missing (Debian: apt-get install chromium): no image", file=sys.stderr)
        return
    drawn = [
        (
            panel,
            [
                page.Line(query.name(each.labels), each, query.colour(each.labels))
                for query, series in queries
                for each in series
            ],
        )
        for panel, queries in found
    ]
    source = folder / "dashboard.html"
    source.write_text(
        page.page("shareq: the dashboard's queries, answered by Prometheus and drawn without Grafana", drawn)
    )
    width, height = page.size(drawn)
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={width},{height}", f"--screenshot={image.resolve()}", source.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    print(f"{image}: {image.stat().st_size // 1000} kB")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard", description=__doc__)
    parser.add_argument("--seconds", type=float, default=90, help="of load before Prometheus is asked (default 90)")
    parser.add_argument("--scrape", type=int, default=2, help="seconds between scrapes (default 2)")
    parser.add_argument("--image", type=Path, metavar="FILE.png", help="draw the panels, with Chromium")
    parser.add_argument("--no-alert", action="store_true", help="do not take the broker away and wait for the alert")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
