"""A client's rules, once: coroutines that wait for nothing but what their driver gives them. Pure."""
