"""The asyncio client's parts: share consumers whose records are acknowledged one by one, and a producer."""
