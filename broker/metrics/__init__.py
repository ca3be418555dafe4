"""An operator's view of a running broker: counters, a snapshot of them, and the Prometheus endpoint."""
