"""The parts that `shareq.testing` adds to the brokers that it starts: movable time, faults, a transcript."""
