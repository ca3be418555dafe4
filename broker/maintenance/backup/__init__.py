"""Backups of a data folder, taken beside a running broker, and their restore.

moment    pure: finds a moment at which no log was being written
source    the data folder: its logs, their files held open
catalog   pure: what one backup consists of, as a file
store     the folder of backups: contents by their SHA-256, catalogs, what may be removed
take      one backup, step by step
restore   a data folder from a backup
"""
