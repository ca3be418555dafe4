"""The change of groups with members between the classic protocol and KIP-848's, and members of both in one group."""
