"""The parts that `shareq.testing` puts into the brokers that it starts: time that moves, faults, a transcript."""
