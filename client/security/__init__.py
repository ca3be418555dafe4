"""The identity of client and broker: SASL and TLS, and the properties of both."""
