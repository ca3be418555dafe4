"""What one streaming query keeps on its driver: its share group's member, and what the member holds for it."""
