"""What the processes agree on. `departures` and `carriers` name a query, its share group, its checkpoint."""

TOPIC = "flights"
DEPARTURES, CARRIERS = "departures", "carriers"
CARRIER = 9  # the field of the CSV line
