"""The log cleaner: compacted topics keep the records that a replay needs, and lose those superseded by newer ones."""
