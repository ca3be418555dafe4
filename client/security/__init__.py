"""How a client proves who it is, and who the broker is: SASL and TLS, and the properties of both."""
