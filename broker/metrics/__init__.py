"""What an operator can see of a running broker: counters, a snapshot of them, and the Prometheus endpoint."""
