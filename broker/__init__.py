"""The broker process: sockets, handlers, logs and the shells around the pure cores."""
