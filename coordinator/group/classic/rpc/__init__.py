"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup for classic groups, one file for each."""
