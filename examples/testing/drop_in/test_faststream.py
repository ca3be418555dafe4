"""A suite of an application with FastStream."""

import asyncio

import pytest

pytest.importorskip("faststream", reason="FastStream is not installed: pip install 'faststream[kafka]'")

from faststream.kafka import KafkaBroker


def application(bootstrap: str) -> KafkaBroker:
    """Return the code under test: orders are packed, and those that nobody can pack are set aside."""
    app = KafkaBroker(bootstrap)

    @app.publisher("set-aside")
    async def set_aside(order: str) -> str:
        return order

    @app.subscriber("orders-of-the-day", group_id="packers", auto_offset_reset="earliest")
    @app.publisher("packed")
    async def pack(order: str) -> str | None:
        if "broken" in order:
            await app.publish(order, "set-aside")
            return None
        return f"{order}, packed"

    return app


async def test_orders_are_packed_or_set_aside(bootstrap: str) -> None:
    app, packed, aside = application(bootstrap), asyncio.Queue[str](), asyncio.Queue[str]()

    @app.subscriber("packed", auto_offset_reset="earliest")
    async def seen(order: str) -> None:
        if order:
            packed.put_nowait(order)

    @app.subscriber("set-aside", auto_offset_reset="earliest")
    async def seen_aside(order: str) -> None:
        aside.put_nowait(order)

    async with app:
        await app.start()
        for order in ("a vase", "a broken vase", "apples"):
            await app.publish(order, "orders-of-the-day")
        parcels = [await asyncio.wait_for(packed.get(), 20) for _ in range(2)]
        assert await asyncio.wait_for(aside.get(), 20) == "a broken vase"
    assert sorted(parcels) == ["a vase, packed", "apples, packed"]
