"""A share group's member as a blocking client: it is handed ranges of records and acknowledges ranges."""
