"""The parts of the broker: events reach existing lazy services in order, and create none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import cast

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.data_folder_ground import DataFolderGround, data_folder_of
from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.service import Service
from shareq.broker.groups.service import GroupService
from shareq.broker.metadata.features import SHARE_VERSION
from shareq.broker.metadata.store import NewTopic
from shareq.broker.services import Made
from shareq.broker.share.coordinator import ShareCoordinatorService
from shareq.broker.share.service import ShareService
from shareq.broker.transactions.service import TransactionService
from shareq.coordinator.ports import TopicImage
from tests.support.fakes.host import ELSEWHERE
from tests.support.fakes.share_states import MemoryShareStates


class Noting(Service):
    def __init__(self, name: str, news: list[str]) -> None:
        self._note: Callable[[str], None] = lambda what: news.append(f"{name} {what}")

    def topics_changed(self, topics: Sequence[TopicImage]) -> None:
        self._note(f"changed {', '.join(f'{topic.name} {topic.partitions}' for topic in topics)}")

    def topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        self._note(f"deleted {', '.join(topic.name for topic in topics)}")

    def leader_moved(self, topic: str, partition: int) -> None:
        self._note(f"moved {topic}-{partition}")

    def share_groups_disabled(self) -> None:
        self._note("disabled")

    def stop_waiting(self) -> None:
        self._note("stop")

    def close(self) -> None:
        self._note("close")


def made(news: list[str], *names: str) -> Made:
    noting = {name: Noting(name, news) for name in names}
    services = Made()
    services.share = cast(ShareService | None, noting.get("share"))
    services.groups = cast(GroupService | None, noting.get("groups"))
    services.share_states = cast(ShareCoordinatorService | None, noting.get("states"))
    services.of_ground = [noting["transactions"]] if "transactions" in noting else []
    return services


ALL = ("transactions", "share", "groups", "states")


def test_services_come_in_their_order_and_only_those_that_are_made() -> None:
    for names in (ALL, ("transactions", "groups"), ("states",), ()):
        news: list[str] = []
        for service in made(news, *names):
            service.close()
        assert news == [f"{name} close" for name in names]


class Rig:
    """A broker whose lazy services record their notifications."""

    def __init__(self, *names: str, states: MemoryShareStates | None = None) -> None:
        self.clock = VirtualClock()
        fs = MemFs(self.clock.call_soon, Random(1))
        config = BrokerConfig.load({"log.dirs": "data"})
        env = Environment(self.clock, Random(1), fs)
        self.broker = Broker(env, config, DataFolderGround(env, config, MemoryMetaDb(), states=states))
        self.services = self.broker.services
        self.folder = data_folder_of(self.services)
        self.broker.start()
        self.news: list[str] = []
        if names:
            self.services.made = made(self.news, *names)

    def about(self, news: str) -> list[str]:
        return [f"{name} {news}" for name in ALL]


def test_each_of_the_news_reaches_all_of_them() -> None:
    rig = Rig(*ALL)
    topic = rig.folder.metadata.create_topic(NewTopic("t", 1))
    assert rig.news == rig.about("changed t 1")
    rig.news.clear()
    rig.folder.metadata.create_partitions({"t": 3})
    assert rig.news == rig.about("changed t 3")
    rig.news.clear()
    rig.folder.leaders.move("t", 1, ELSEWHERE)
    assert rig.news == rig.about("moved t-1")
    rig.news.clear()
    rig.folder.metadata.delete_topics([topic.name])
    assert rig.news == rig.about("deleted t")
    rig.news.clear()
    rig.folder.metadata.set_features({SHARE_VERSION: 0})
    assert rig.news == rig.about("disabled")
    rig.news.clear()
    rig.folder.metadata.set_features({SHARE_VERSION: 1})
    assert rig.news == []
    rig.broker.stop_waiting()
    assert rig.news == rig.about("stop")
    rig.news.clear()
    rig.broker.close()
    assert rig.news == rig.about("close")


def test_news_make_no_service() -> None:
    rig = Rig()
    rig.folder.metadata.create_topic(NewTopic("t", 1))
    rig.folder.leaders.move("t", 0, ELSEWHERE)
    rig.folder.metadata.delete_topics(["t"])
    rig.broker.stop_waiting()
    assert list(rig.services.made) == []
    rig.broker.close()
    assert list(rig.services.made) == []


def test_a_service_is_made_when_it_is_first_asked_for_and_once() -> None:
    rig = Rig()
    services = rig.services
    ground = data_folder_of(services)
    assert ground.transactions is ground.transactions
    assert [type(each) for each in services.made] == [TransactionService]
    assert services.groups is services.groups
    assert services.share is services.share
    assert [type(each) for each in services.made] == [
        TransactionService,
        ShareService,
        GroupService,
        ShareCoordinatorService,
    ]
    assert services.made.share_states is services.share_states is services.share_state_store


def test_states_that_are_kept_elsewhere_make_no_share_coordinator() -> None:
    elsewhere = MemoryShareStates()
    rig = Rig(states=elsewhere)
    assert rig.services.share_state_store is elsewhere
    assert rig.services.share is not None
    assert rig.services.groups is not None
    assert rig.services.made.share_states is None


@pytest.mark.parametrize("made_before", [False, True])
def test_groups_reach_the_leaders_only_if_there_are_any(made_before: bool) -> None:
    rig = Rig()
    leaders = rig.services.groups.share._leaders
    if made_before:
        assert rig.services.share is not None
    leaders.state_replaced(())
    leaders.state_deleted(())
    assert (rig.services.made.share is not None) is made_before
