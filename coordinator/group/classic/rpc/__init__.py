"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup to classic groups, one file each."""
