"""Requests of clients that brokers of the cluster answer: the broker for each request, and the handling of its answer.

The node checks a client's rights before it forwards anything, because its own user has more rights than its clients.
"""
