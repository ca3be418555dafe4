"""The metrics of a broker, scraped and parsed by prometheus-client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.metrics.exposition import scrape
from shareq.broker.network.listener import Listener
from tests.support.coroutines import finished


class Scraped:
    """One scrape: samples by name and labels, and each metric's type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.types: dict[str, str] = {}
        self._samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for family in text_string_to_metric_families(text):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            assert name not in self.types, f"{name} comes twice"
            self.types[name] = family.type
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                assert key not in self._samples, f"{key} comes twice"
                self._samples[key] = sample.value

    def value(self, name: str, **labels: str) -> float:
        """Return the sample with exactly these labels; KeyError if missing."""
        return self._samples[name, frozenset(labels.items())]

    def labels_of(self, name: str) -> list[Mapping[str, str]]:
        return [dict(labels) for sample, labels in self._samples if sample == name]


def scraped(world: BrokerWorld, listeners: Sequence[Listener] = (), *, started_ms: int = 0) -> Scraped:
    return Scraped(scraped_text(world, lambda: None, listeners, started_ms=started_ms))


def scraped_text(
    world: BrokerWorld, at_pause: Callable[[], object], listeners: Sequence[Listener] = (), *, started_ms: int = 0
) -> str:
    """Return the text of a scrape; `at_pause` is called at each of its pauses."""
    coroutine = scrape(world.services, world.broker.dispatcher.requests, listeners, started_ms * 1_000_000)
    return finished(coroutine, at_pause).decode()
