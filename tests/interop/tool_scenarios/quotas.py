"""kafka-configs.sh on the quotas of users, client ids and addresses."""

from __future__ import annotations

from tests.interop.support.tool_session import Session

USERS, CLIENTS, IPS = ("--entity-type", "users"), ("--entity-type", "clients"), ("--entity-type", "ips")
ALICE, APP = (*USERS, "--entity-name", "alice"), (*CLIENTS, "--entity-name", "app")
ADDRESS = (*IPS, "--entity-name", "10.0.0.1")

SETTINGS = (
    (ALICE, "producer_byte_rate=1048576,consumer_byte_rate=2097152"),
    ((*USERS, "--entity-default"), "request_percentage=12.5"),
    (APP, "producer_byte_rate=1000"),
    ((*CLIENTS, "--entity-default"), "consumer_byte_rate=5000"),
    ((*ALICE, *APP), "controller_mutation_rate=0.5"),
    ((*ALICE, *CLIENTS, "--entity-default"), "request_percentage=200"),
    ((*USERS, "--entity-default", *APP), "producer_byte_rate=3"),
    ((*USERS, "--entity-default", *CLIENTS, "--entity-default"), "producer_byte_rate=4"),
    (ADDRESS, "connection_creation_rate=7"),
    ((*IPS, "--entity-default"), "connection_creation_rate=20"),
)
WRONG = (
    (ALICE, "producer_byte_rate=0"),
    (ALICE, "producer_byte_rate=1.5"),
    (ALICE, "producer_byte_rate=-5"),
    (ALICE, "producer_byte_rate=fast"),
    (ALICE, "producer_byte_rate=1e30"),
    (ALICE, "connection_creation_rate=5"),
    (ALICE, "no_such_rate=5"),
    (APP, "request_percentage=-1"),
    (ADDRESS, "producer_byte_rate=5"),
    (ADDRESS, "connection_creation_rate=1.5"),
    (ADDRESS, "connection_creation_rate=3000000000"),
    ((*IPS, "--entity-name", "not an address"), "connection_creation_rate=5"),
    ((*ALICE, *ADDRESS), "connection_creation_rate=5"),
)
SHOWN = (
    USERS,
    CLIENTS,
    IPS,
    (*USERS, *CLIENTS),
    ALICE,
    APP,
    ADDRESS,
    (*USERS, "--entity-default"),
    (*CLIENTS, "--entity-default"),
    (*IPS, "--entity-default"),
    (*ALICE, *CLIENTS),
    (*ALICE, *APP),
    (*USERS, "--entity-default", *CLIENTS, "--entity-default"),
    (*USERS, "--entity-name", "nobody"),
)


def _described(run: Session) -> None:
    for entity in SHOWN:
        run.configs("--describe", *entity, view=sorted)


def of_clients(run: Session) -> None:
    """Set every kind of entity and quota, describe it in every way, try bad values, change and remove it."""
    _described(run)
    for entity, quotas in SETTINGS:
        run.configs("--alter", *entity, "--add-config", quotas)
    _described(run)
    for entity, quotas in WRONG:
        run.configs("--alter", *entity, "--add-config", quotas)
    run.configs("--alter", *ALICE, "--add-config", "producer_byte_rate=5", "--delete-config", "consumer_byte_rate")
    run.configs("--alter", *ALICE, "--delete-config", "request_percentage")
    run.configs("--alter", *ADDRESS, "--delete-config", "connection_creation_rate")
    run.configs("--alter", *ALICE, *APP, "--delete-config", "controller_mutation_rate")
    _described(run)
