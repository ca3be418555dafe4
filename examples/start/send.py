"""Three jobs for the workers of `work.py`: the page docs/start/python.md."""

import sys

from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": sys.argv[1]})
for job in ("wash the car", "divide by zero", "water the plants"):
    producer.produce("jobs", job)
producer.flush()  # returns when the broker has them
