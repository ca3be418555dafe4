"""The rules of both clients as coroutines that wait only for objects of their driver. Pure."""
