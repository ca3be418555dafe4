"""Batches of records, and how they get into logs: what both producers share. Pure."""
