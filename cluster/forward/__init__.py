"""Requests of clients that brokers of the cluster answer: which broker gets what, and what comes back of it.

A client is authorized by the node before anything of it is forwarded, since the node's user sees more than its clients.
"""
