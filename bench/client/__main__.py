"""`python -m bench.client PROGRAM JSON`: run one client program, print its numbers as one JSON line."""

from __future__ import annotations

import importlib
import json
import sys

PROGRAMS = (
    "aio_produce",
    "aio_share",
    "connect_burst",
    "dated",
    "end_to_end",
    "fetch",
    "first_heartbeat",
    "first_record",
    "hops",
    "idle_members",
    "jobs",
    "mixed_acks",
    "pipelined",
    "produce",
    "share",
    "synced",
    "waiting_members",
)

if __name__ == "__main__":
    assert sys.argv[1] in PROGRAMS, sys.argv[1]
    print(json.dumps(importlib.import_module(f"bench.client.{sys.argv[1]}").run(**json.loads(sys.argv[2]))))
