"""Replicated state machines: share coordinator and group coordinator. Pure; ports only."""
