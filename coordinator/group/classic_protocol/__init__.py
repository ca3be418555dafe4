"""The RPCs of the classic protocol, to groups of either kind: consumer groups may have members that speak it."""
