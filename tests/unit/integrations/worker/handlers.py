"""Handlers that other processes import."""

from __future__ import annotations

import os
import sys
import time


def write_pid(value: bytes) -> None:
    with open(value.decode(), "a") as file:
        file.write(f"{os.getpid()}\n")


async def write_pid_async(value: bytes) -> None:
    write_pid(value)


def fail(value: bytes) -> None:
    raise LookupError(value.decode())


class Odd(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def fail_oddly(value: bytes) -> None:
    raise Odd("a", "b")


def die(value: bytes) -> None:
    os._exit(7)


def sleep(value: bytes) -> None:
    time.sleep(float(value))


def leave(value: bytes) -> None:
    sys.exit(value.decode())
