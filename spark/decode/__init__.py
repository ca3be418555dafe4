"""Decodes record batches to Arrow batches, column by column. Needs numpy and pyarrow."""
