"""Configuration: Kafka's own names, defaults and bounds, and the values in effect for a broker, topic or group."""
