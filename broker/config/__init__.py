"""Configuration: Kafka's own names, defaults and bounds, and what is in effect for a broker, topic or group."""
