"""A blocking Kafka client: share groups by ranges of offsets, and plain fetches of such ranges."""
