"""The RPCs of the classic protocol, for groups of either kind: consumer groups may have members that speak it."""
