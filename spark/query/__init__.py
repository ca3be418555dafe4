"""The state of one streaming query on its driver: its share group's member, and what the member holds for it."""
