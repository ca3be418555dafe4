"""Requests of clients that brokers of the cluster answer: the broker for each request, and the handling of its answer.

A client is authorized by the node before anything of it is forwarded, since the node's user sees more than its clients.
"""
