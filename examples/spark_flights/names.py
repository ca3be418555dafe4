"""The names that the processes share. `departures` and `carriers` name a query, its share group, its checkpoint."""

TOPIC = "flights"
DEPARTURES, CARRIERS = "departures", "carriers"
CARRIER = 9  # the field of the CSV line
