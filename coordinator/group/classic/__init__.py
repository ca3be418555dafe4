"""Classic groups: JoinGroup, SyncGroup, Heartbeat, LeaveGroup; clients assign the partitions themselves."""
