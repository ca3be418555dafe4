"""What share groups do with each record, over HTTP: a read-only API for operators and tools."""
