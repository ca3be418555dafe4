"""The state of one streaming query on its driver: its share group's member, and the records that the member holds for
it.
"""
