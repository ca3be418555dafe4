"""A producer on the event loop: records gathered into batches, one batch of each partition under way at a time."""
