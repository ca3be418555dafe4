"""The faults, one for each row of the table. Each round makes its own random choices."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from shareq.cluster.node.state_topics import STATES
from tests.campaign.cluster_kills.brokers import SESSION_MS
from tests.campaign.cluster_kills.processes import stop
from tests.campaign.cluster_kills.rights import give_back, take_away
from tests.campaign.cluster_kills.scene import MEMBERSHIP, STARTS_S, TOPIC, Scene
from tests.interop.support.our_process import OurProcess

SILENT_S: Final = 30.0
CUT_FROM_CLIENTS_S: Final = 6.0
WITHOUT_RIGHT_S: Final = 75.0
"""The seconds without the right: more than the minute after which a topic with an unknown id counts as deleted."""
SURELY_NEW_S: Final = 1.0
"""The seconds after an owner's end from which on a confirmation cannot be that owner's."""
TAKE_OVER_S: Final = 0.15
"""The seconds that a take-over takes, roughly."""
TURNS_S: Final = 1.5
"""The seconds that nodes wait for an ended node before they divide its slots."""
JOINS_S: Final = 0.5
"""The seconds after a node's start in which it does not own its slots yet."""
BEFORE: Final = 0.25
"""The share of kills that happen before the nodes get the map that moves the slot."""
RECOVERS_S: Final = 90.0
BROKER_MISSED_S: Final = SESSION_MS / 1000


@dataclass
class Fault:
    """A round's fault. `at`: the time from which the next confirmation is awaited; `note`: a remark for the report."""

    rng: Random
    at: float = 0.0
    note: str = ""

    def now(self) -> None:
        self.at = time.monotonic()


class Cell(NamedTuple):
    """One fault, whose function returns when all processes run again.

    The longest time without a confirmation should be `within_s`. `divided`: each node owns a part of the slots and of
    the groups; slots move when a node ends, and when it returns.
    """

    name: str
    disturb: Callable[[Scene, Fault], None]
    within_s: float
    nodes: int = 2
    by_proxies: bool = False
    guarded: bool = False
    three_brokers: bool = False
    divided: bool = False


def _owner(scene: Scene) -> OurProcess:
    scene.wait_for(lambda: scene.owner is not None, "a node that owns the topic")
    owner = scene.owner
    assert owner is not None
    return owner


def _recovers(scene: Scene, at: float) -> None:
    """Wait until records are confirmed that no owner from before the fault can have confirmed."""
    journals = scene.journals
    scene.wait_for(lambda: journals.seen().last > at + SURELY_NEW_S, "a confirmation", RECOVERS_S)


def _ends(number: int, *, owner: bool) -> Callable[[Scene, Fault], None]:
    """Return a fault that ends the owner, or the other node, by a signal, and restarts that node."""

    def disturb(scene: Scene, fault: Fault) -> None:
        leads = _owner(scene)
        node = next(each for each in scene.nodes if (each is leads) is owner)
        assert node.process is not None
        fault.now()
        node.process.send_signal(number)
        node.process.wait(30)
        _recovers(scene, fault.at)
        node.start(STARTS_S)

    return disturb


def _owner_stops(scene: Scene, fault: Fault) -> None:
    """Stop the owner, which is a zombie when it resumes."""
    node = _owner(scene)
    fault.now()
    stop(node.process)
    _recovers(scene, fault.at)
    time.sleep(fault.rng.uniform(0, 1))
    assert node.process is not None
    node.process.send_signal(signal.SIGCONT)


def _cut_off(*, there: bool, back: bool) -> Callable[[Scene, Fault], None]:
    """Return a fault that cuts the owner off from the cluster until another node has taken over."""

    def disturb(scene: Scene, fault: Fault) -> None:
        cuts = scene.cuts[scene.nodes.index(_owner(scene))]
        fault.now()
        if there:
            cuts.there.clear()
        if back:
            cuts.back.clear()
        _recovers(scene, fault.at)
        time.sleep(fault.rng.uniform(0, 1))
        cuts.heal()

    return disturb


def _cut_off_from_clients(scene: Scene, fault: Fault) -> None:
    """Cut the owner off from clients only: it stays the owner, because no node can know."""
    cuts = scene.client_cuts[scene.nodes.index(_owner(scene))]
    cuts.there.clear()
    cuts.back.clear()
    time.sleep(fault.rng.uniform(0.5, 1) * CUT_FROM_CLIENTS_S)
    cuts.heal()
    fault.now()
    _recovers(scene, fault.at)


def _heir_dies(scene: Scene, fault: Fault) -> None:
    owner = _owner(scene)
    others = [node for node in scene.nodes if node is not owner]
    owner.kill()
    scene.wait_for(lambda: any(scene.last_map(node).slots for node in others), "an heir", RECOVERS_S, 0.005)
    heir = next(node for node in others if scene.last_map(node).slots)
    time.sleep(fault.rng.uniform(0, TAKE_OVER_S))
    fault.now()
    heir.kill()
    log = (heir.folder / "broker.log").read_text(errors="replace")
    served = log.rfind("that are this node's are served") > log.rfind("slots here")
    fault.note = "had taken over" if served else "was taking over"
    _recovers(scene, fault.at)
    owner.start(STARTS_S)
    heir.start(STARTS_S)


def _both_die(scene: Scene, fault: Fault) -> None:
    """Kill both nodes, one after the other, and restart them. The time counts from when the first one listens."""
    first = _owner(scene)
    second = next(node for node in scene.nodes if node is not first)
    first.kill()
    time.sleep(fault.rng.uniform(0, 3))
    second.kill()
    first.start(STARTS_S)
    fault.now()
    second.start(STARTS_S)
    _recovers(scene, fault.at)


def _two_die(scene: Scene, fault: Fault) -> None:
    """Kill the owner, and another one at once, or while the rest divide the slots of the first."""
    owner = _owner(scene)
    another = fault.rng.choice([node for node in scene.nodes if node is not owner])
    owner.kill()
    time.sleep(fault.rng.choice((0.0, fault.rng.uniform(0, TURNS_S))))
    fault.now()
    another.kill()
    _recovers(scene, fault.at)
    owner.start(STARTS_S)
    another.start(STARTS_S)


def _dies_as_it_moves(scene: Scene, fault: Fault) -> None:
    """Kill the node that the topic's slot moves away from, or the one that it moves to, at any moment of the move.

    The slot moves back to its first owner, which was killed and restarted.
    """
    comes = _owner(scene)
    killed = time.monotonic()
    comes.kill()
    _recovers(scene, killed)
    gives = _owner(scene)
    comes.start(STARTS_S)
    if fault.rng.random() < BEFORE:
        time.sleep(fault.rng.uniform(0, JOINS_S))
    else:
        scene.wait_for(lambda: scene.has_all(gives), "the map of a move", RECOVERS_S, 0.005)
        time.sleep(fault.rng.uniform(0, TAKE_OVER_S))
    dies = fault.rng.choice((gives, comes))
    fault.now()
    dies.kill()
    done, to_come = ("gave", "was to give") if dies is gives else ("got", "was to get")
    fault.note = f"{done if scene.has_all(gives) else to_come} the slot"
    _recovers(scene, fault.at)
    dies.start(STARTS_S)


def _cluster_is_silent(scene: Scene, fault: Fault) -> None:
    scene.cluster.pause()
    time.sleep(SILENT_S)
    scene.cluster.resume()
    fault.now()
    _recovers(scene, fault.at)


def _cluster_is_killed(scene: Scene, fault: Fault) -> None:
    scene.cluster.kill()
    scene.cluster.start()
    fault.now()
    _recovers(scene, fault.at)


def _right_is_taken(scene: Scene, fault: Fault) -> None:
    """Revoke the nodes' right to describe the topic for 75 to 80 s: longer than the minute after which an unknown topic
    counts as deleted.
    """
    take_away(scene.cluster.processes[1].port, TOPIC)
    time.sleep(WITHOUT_RIGHT_S + fault.rng.uniform(0, 5))
    give_back(scene.cluster.processes[1].port, TOPIC)
    fault.now()
    _recovers(scene, fault.at)


def _state_leader(scene: Scene, _fault: Fault) -> int:
    return scene.cluster.leader_of(STATES, scene.state_partition)


def _coordinator(scene: Scene, _fault: Fault) -> int:
    return scene.cluster.coordinator_of(MEMBERSHIP)


def _any_broker(scene: Scene, fault: Fault) -> int:
    return fault.rng.choice(list(scene.cluster.processes))


def _broker_dies(chosen: Callable[[Scene, Fault], int]) -> Callable[[Scene, Fault], None]:
    def disturb(scene: Scene, fault: Fault) -> None:
        number = chosen(scene, fault)
        fault.now()
        scene.cluster.processes[number].kill()
        _recovers(scene, fault.at)
        scene.cluster.start([number])
        scene.wait_for(scene.cluster.in_sync, "replicas in sync", RECOVERS_S)

    return disturb


def _brokers_restart(scene: Scene, fault: Fault) -> None:
    numbers = list(scene.cluster.processes)
    fault.rng.shuffle(numbers)
    fault.now()
    for number in numbers:
        scene.cluster.processes[number].stop()
        scene.cluster.start([number])
        scene.wait_for(scene.cluster.in_sync, "replicas in sync", RECOVERS_S)


CELLS: Final = {
    cell.name: cell
    for cell in (
        Cell("owner, SIGKILL", _ends(signal.SIGKILL, owner=True), 3.0),
        Cell("owner, SIGTERM", _ends(signal.SIGTERM, owner=True), 1.5),
        Cell("owner, SIGSTOP, goes on as a zombie", _owner_stops, 9.0),
        Cell("waiting node, SIGKILL", _ends(signal.SIGKILL, owner=False), 3.0),
        Cell("waiting node, SIGTERM", _ends(signal.SIGTERM, owner=False), 1.5),
        Cell("owner and its heir at its take-over, SIGKILL", _heir_dies, 3.0, nodes=3),
        Cell("both nodes, SIGKILL, from their start", _both_die, 3.0),
        Cell("owner cut off from the cluster", _cut_off(there=True, back=True), 9.0, by_proxies=True),
        Cell("owner's requests get lost", _cut_off(there=True, back=False), 9.0, by_proxies=True),
        Cell("the owner's answers get lost", _cut_off(there=False, back=True), 9.0, by_proxies=True),
        Cell("owner cut off from clients, from its return", _cut_off_from_clients, 5.0, by_proxies=True),
        Cell("right to Describe taken, from its return", _right_is_taken, 5.0, by_proxies=True, guarded=True),
        Cell("cluster silent for 30 s, from its return", _cluster_is_silent, 5.0),
        Cell("cluster killed, from its start", _cluster_is_killed, 10.0),
        Cell("any broker, SIGKILL", _broker_dies(_any_broker), BROKER_MISSED_S + 3, three_brokers=True),
        Cell("leader of the states, SIGKILL", _broker_dies(_state_leader), BROKER_MISSED_S + 3, three_brokers=True),
        Cell("the membership's broker, SIGKILL", _broker_dies(_coordinator), BROKER_MISSED_S + 3, three_brokers=True),
        Cell("brokers restart one by one", _brokers_restart, BROKER_MISSED_S + 3, three_brokers=True),
        Cell("of two owners the topic's, SIGKILL", _ends(signal.SIGKILL, owner=True), 3.0, divided=True),
        Cell("of two owners the topic's, SIGTERM", _ends(signal.SIGTERM, owner=True), 1.5, divided=True),
        Cell("of two owners the topic's, SIGSTOP, a zombie then", _owner_stops, 9.0, divided=True),
        Cell("of two owners the other one, SIGKILL", _ends(signal.SIGKILL, owner=False), 3.0, divided=True),
        Cell("of two owners the other one, SIGTERM", _ends(signal.SIGTERM, owner=False), 1.5, divided=True),
        Cell("both owners, SIGKILL, from their start", _both_die, 3.0, divided=True),
        Cell("of three owners the topic's, SIGKILL", _ends(signal.SIGKILL, owner=True), 3.0, nodes=3, divided=True),
        Cell("of three owners the topic's, SIGTERM", _ends(signal.SIGTERM, owner=True), 1.5, nodes=3, divided=True),
        Cell("of three owners the topic's, SIGSTOP, a zombie then", _owner_stops, 9.0, nodes=3, divided=True),
        Cell("of three owners the topic's and another, SIGKILL", _two_die, 3.0, nodes=3, divided=True),
        Cell("of three owners one in the topic's move, SIGKILL", _dies_as_it_moves, 3.0, nodes=3, divided=True),
    )
}
"""All cells. Their bounds: 3 s after a killed process, or after the first start if all were killed; 1.5 s after
SIGTERM; 9 s after a process stood still or was cut off; 5 s after the return of a cluster that was away. If a broker is
gone, the cluster's own session timeout is added.
"""
