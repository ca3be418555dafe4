"""Share groups (KIP-932): records, heartbeats, assignments, their share state, administration."""
