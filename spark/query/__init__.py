"""The state of one streaming query on its driver: the member of the share group, and the records that it holds."""
