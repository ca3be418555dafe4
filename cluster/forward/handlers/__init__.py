"""Handlers of RPCs that a node forwards, or refuses: one file for each RPC, as in the broker."""
