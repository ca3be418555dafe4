"""The share-partition leader (KIP-932): pure state machines, driven by `shareq.broker.share.partitions`."""
