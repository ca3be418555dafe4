"""Requests of clients that a node forwards to the cluster: the choice of a broker for each, and what the client gets of
the broker's answer.

The node checks a client's rights before it forwards anything, because its own user has more rights than its clients.
"""
