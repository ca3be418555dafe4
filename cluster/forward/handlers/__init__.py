"""Handlers of RPCs that a node forwards, or refuses: one file for each, as those of the broker."""
