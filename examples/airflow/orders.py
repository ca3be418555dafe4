"""Two DAGs for one queue: each order is packed, and billed. Put it into Airflow's folder of DAGs.

SHAREQ_BROKER is the broker's address.
"""

import os
from typing import Any

from airflow.providers.common.messaging.triggers.msg_queue import MessageQueueTrigger
from airflow.sdk import Asset, AssetWatcher, dag, task

BROKER = os.environ.get("SHAREQ_BROKER", "127.0.0.1:9092")


def arriving(name: str) -> Asset:
    """Return an asset that changes with each order. Airflow runs one poller for all equal triggers."""
    trigger = MessageQueueTrigger(scheme="kafka-share", bootstrap_servers=BROKER, topic="orders")
    return Asset(name, watchers=[AssetWatcher(name=name, trigger=trigger)])


to_pack, to_bill = arriving("to-pack"), arriving("to-bill")


@dag(schedule=[to_pack], is_paused_upon_creation=False)
def pack() -> None:
    @task
    def each(triggering_asset_events: Any = None) -> None:
        for event in triggering_asset_events[to_pack]:
            print("pack", event.extra["payload"]["value"])

    each()


@dag(schedule=[to_bill], is_paused_upon_creation=False)
def bill() -> None:
    @task
    def each(triggering_asset_events: Any = None) -> None:
        for event in triggering_asset_events[to_bill]:
            print("bill", event.extra["payload"]["value"])

    each()


pack()
bill()
