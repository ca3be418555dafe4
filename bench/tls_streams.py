"""The cost of TLS on answers of several sizes, by ways to have it: `python -m bench.tls_streams [--requests N]`.

One client on loopback reads one answer after the other; the server does nothing else. For each way: bytes per second,
the server's CPU per GB, the longest turn of its loop, and its memory at the end. `asyncio` is the loop's own TLS
(uvloop's), `TlsStream` what listeners use.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Final

from devtools.kafka.certificates import Authority
from shareq.broker.foundation.os_clock import LoopClock
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.network.counters import Authentications
from shareq.broker.network.listener import Listener, ListenerLimits
from shareq.broker.network.tls.stream import TlsPort
from shareq.broker.process.serve import new_event_loop

WAYS: Final = ("plain", "asyncio", "TlsStream")
SIZES: Final = (50_000_000, 1_000_000, 1_000)
TICK_S: Final = 0.001
GB: Final = 1_000_000_000
_READ_BYTES: Final = 1 << 16


def main() -> None:
    """Print a table; a process of its own measures each row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, help="for each size [default: 1 GB, at most 20,000]")
    parser.add_argument("--one", nargs=4, metavar=("WAY", "SIZE", "REQUESTS", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        way, size, requests, folder = options.one
        print(json.dumps(measure(way, int(size), int(requests), Path(folder))))
        return
    print(f"{'answer':>12}  {'':9}  {'MB/s':>7}  {'CPU s/GB':>8}  {'longest ms':>10}  {'memory MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        Authority(Path(folder)).sign("server", "DNS:localhost")
        for size in SIZES:
            requests = options.requests or min(GB // size, 20_000)
            for way in WAYS:
                command = [sys.executable, "-m", "bench.tls_streams", "--one", way, str(size), str(requests), folder]
                row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                print(
                    f"{size:12,}  {way:9}  {row['mb_per_s']:7,.0f}  {row['cpu_s_per_gb']:8.2f}"
                    f"  {row['longest_ms']:10.1f}  {row['memory_mb']:9.0f}"
                )


def measure(way: str, size: int, requests: int, folder: Path) -> dict[str, float]:
    """Measure one row."""
    loop = new_event_loop()
    try:
        return loop.run_until_complete(_served(way, size, requests, folder))
    finally:
        loop.close()


async def _served(way: str, size: int, requests: int, folder: Path) -> dict[str, float]:
    loop, numbers = asyncio.get_running_loop(), count(1)
    clock = LoopClock(loop)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    port = TlsPort(context, clock, Authentications())
    answer = bytes(size)
    listener = Listener(
        "BENCH",
        clock=clock,
        handler_for=lambda _connection: lambda _frame: answer,
        limits=ListenerLimits(),
        room=AnswerBudget(clock),
        next_id=lambda: next(numbers),
        encrypted=port.protocol if way == "TlsStream" else None,
    )
    server = await loop.create_server(listener.protocol, "127.0.0.1", 0, ssl=context if way == "asyncio" else None)
    with server.sockets[0].dup() as bound:
        address = bound.getsockname()
    trusted = None if way == "plain" else folder / "ca.pem"
    cpu_s = time.process_time()
    client = loop.run_in_executor(None, _client, address, size, requests, trusted)
    longest_s = await _watched(client)
    cpu_s = time.process_time() - cpu_s
    server.close()
    took = await client
    return {
        "mb_per_s": size * requests / 1e6 / took["elapsed_s"],
        "cpu_s_per_gb": cpu_s / (size * requests) * GB,
        "longest_ms": longest_s * 1000,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def _watched(client: asyncio.Future[dict[str, float]]) -> float:
    """Return the longest delay of a timer until the client is done, in seconds."""
    longest_s = 0.0
    last = time.perf_counter()
    while not client.done():
        await asyncio.sleep(TICK_S)
        now = time.perf_counter()
        longest_s = max(longest_s, now - last - TICK_S)
        last = now
    return longest_s


def _client(address: tuple[str, int], size: int, requests: int, trusted: Path | None) -> dict[str, float]:
    """Run the client in another process, so that its CPU is not the server's."""
    task = json.dumps([address[1], size, requests, str(trusted or "")])
    command = [sys.executable, "-c", "import bench.tls_streams as b; b.read_answers()", task]
    done: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done


def read_answers() -> None:
    """Run the client: argv[1] is JSON of port, size, requests, and the authority's file or nothing."""
    port, size, requests, trusted = json.loads(sys.argv[1])
    connection = socket.create_connection(("127.0.0.1", port))
    if trusted:
        context = ssl.create_default_context(cafile=trusted)
        connection = context.wrap_socket(connection, server_hostname="localhost")
    buffer = bytearray(_READ_BYTES)
    started = time.perf_counter()
    for _ in range(requests):
        connection.sendall(struct.pack(">ib", 1, 0))
        left = size
        while left:
            left -= connection.recv_into(buffer, min(left, _READ_BYTES))
    elapsed_s = time.perf_counter() - started
    connection.close()
    print(json.dumps({"elapsed_s": elapsed_s}))


if __name__ == "__main__":
    main()
