"""What is particular to share groups (KIP-932): records, heartbeats, assignments, their share state, administration."""
