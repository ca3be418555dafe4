"""A client's rules, once: coroutines that wait only for objects of their driver. Pure."""
