"""Replicated state machines: share, group and transaction coordinator. Pure; ports only."""
