"""From what members subscribe to, to the partitions each has now: topics, the target assignment, the way to it."""
