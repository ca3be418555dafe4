"""The log cleaner: compacted topics keep what a replay needs, and lose what newer records supersede."""
