"""Parts of handlers that go on in turns of the loop."""
