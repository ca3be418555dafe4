"""Client quotas: their subjects, their limits, and the wait of a client that exceeds one. Pure."""
