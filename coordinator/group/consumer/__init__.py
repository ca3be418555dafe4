"""Consumer groups (KIP-848): members heartbeat, the broker assigns."""
