"""A read-only HTTP API for operators and tools: the state of each record in share groups."""
