"""Replicated state machines: the share, group and transaction coordinators. Pure; they reach the broker by ports
only.
"""
