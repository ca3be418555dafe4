"""The sink: rows of a batch or a micro-batch become records, in one transaction for each task."""
