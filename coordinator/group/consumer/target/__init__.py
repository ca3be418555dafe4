"""The target assignment: from members' subscriptions to topics and partitions, and the steps towards it."""
