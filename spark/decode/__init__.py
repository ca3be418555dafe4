"""Record batches become Arrow batches, column by column: needs numpy and pyarrow."""
