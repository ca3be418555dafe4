"""A read-only HTTP API to each record's fate in share groups, for operators and tools."""
