"""Classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup; the clients themselves assign the partitions."""
