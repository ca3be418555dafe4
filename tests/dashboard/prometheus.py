"""A Prometheus with the configuration and the rules of docker/monitoring/, on loopback, that scrapes one broker."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from devtools.ports import free_port
from tests.dashboard.dashboard import MONITORING

START_S: Final = 30.0
STOP_S: Final = 20.0


def why_unavailable() -> str | None:
    return None if shutil.which("prometheus") else "prometheus is missing (Debian: apt-get install prometheus)"


@dataclass(frozen=True, slots=True)
class Series:
    labels: dict[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(slots=True)
class Prometheus:
    """Scrapes the broker's metrics at `target` (HOST:PORT) each `scrape_s` seconds; its files go into `folder`."""

    folder: Path
    target: str
    scrape_s: int
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        shutil.copy(MONITORING / "alerts.yml", self.folder)
        config = yaml.safe_load((MONITORING / "prometheus.yml").read_text())
        config["global"] = {f"{what}_interval": f"{self.scrape_s}s" for what in ("scrape", "evaluation")}
        (job,) = config["scrape_configs"]
        job["static_configs"] = [{"targets": [self.target]}]
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        command = ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/db"]
        command.append(f"--web.listen-address=127.0.0.1:{self.port}")
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of the HTTP API's answer. Raise RuntimeError with the answer's text if it is a refusal."""
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}", timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{parameters}: {error.read().decode()}") from error

    def over(self, expression: str, seconds: float) -> list[Series]:
        now = time.time()
        found = self.ask(
            "query_range", query=expression, start=str(now - seconds), end=str(now), step=str(self.scrape_s)
        )
        return [
            Series(each["metric"], tuple((float(at), float(value)) for at, value in each["values"]))
            for each in found["result"]
        ]

    def values_of(self, expression: str, label: str) -> set[str]:
        found = self.ask("query", query=expression)["result"]
        return {each["metric"][label] for each in found if label in each["metric"]}

    def rules(self) -> dict[str, str]:
        """Return the state of each alert: inactive, pending or firing."""
        return {rule["name"]: rule["state"] for group in self.ask("rules")["groups"] for rule in group["rules"]}

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        until = time.monotonic() + START_S
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=2):
                    return
            except OSError as error:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"Prometheus did not start:\n{(self.folder / 'log').read_text()}") from error
                time.sleep(0.1)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
