"""Stand-ins for the classes of Airflow that `shareq.airflow` builds on: Airflow itself has 150 dependencies.

`tests/campaign/airflow_kills` judges with the real one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple


class BaseMessageQueueProvider:
    scheme: str | None = None


class BaseEventTrigger:
    pass


class SharedStreamProducer:
    pass


class TriggerEvent(NamedTuple):
    payload: Any


class AdvanceOutcome(NamedTuple):
    acked: int
    failed: int
    rejected: int = 0


class AdvanceItem(NamedTuple):
    broker_payload: Any
    outcome: AdvanceOutcome


def message_queue_trigger(scheme: str, **options: Any) -> Any:
    """Return the trigger that the scheme's provider makes, as Airflow's own trigger serializes it."""
    provider = import_module("shareq.airflow.queues").ShareGroupProvider()
    assert provider.scheme == scheme
    return provider.trigger_class()(**options)


class Named(NamedTuple):
    name: str
    watchers: tuple[Any, ...] = ()
    trigger: Any = None

    def __hash__(self) -> int:
        return hash(self.name)


def _asset(name: str, watchers: list[Named]) -> Named:
    return Named(name, tuple(watchers))


def _watcher(name: str, trigger: Any) -> Named:
    return Named(name, trigger=trigger)


def _dag(**options: Any) -> Any:
    return lambda function: function


_FOUND: dict[str, dict[str, object]] = {
    "airflow.providers.common.messaging.providers.base_provider": {
        "BaseMessageQueueProvider": BaseMessageQueueProvider
    },
    "airflow.providers.common.messaging.triggers.msg_queue": {"MessageQueueTrigger": message_queue_trigger},
    "airflow.sdk": {"Asset": _asset, "AssetWatcher": _watcher, "dag": _dag, "task": lambda function: lambda: None},
    "airflow.triggers.base": {"BaseEventTrigger": BaseEventTrigger, "TriggerEvent": TriggerEvent},
    "airflow.triggers.shared_stream": {
        "AdvanceItem": AdvanceItem,
        "AdvanceOutcome": AdvanceOutcome,
        "SharedStreamProducer": SharedStreamProducer,
    },
}


@contextmanager
def airflow() -> Iterator[None]:
    """Make `import airflow` find the stand-ins; afterwards unload them and `shareq.airflow.queues`."""
    made: dict[str, ModuleType] = {}
    for name, members in _FOUND.items():
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            made.setdefault(".".join(parts[:depth]), ModuleType(".".join(parts[:depth])))
        for member, value in members.items():
            setattr(made[name], member, value)
    before = {name: sys.modules.get(name) for name in (*made, "shareq.airflow.queues")}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
