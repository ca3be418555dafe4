"""`shareq verify`: checks every file of a data folder, and reports faults.

findings pure: the findings, their meaning, and the remedies folder the whole folder: the subjects of its files, and the
order in which they are read metadata marker, database and journal promises checkpoints and manifest: the starts of
logs, and their promised ends logs one partition: segments, indexes, snapshots, other files segments pure: one `.log`
file, byte by byte indexes pure: index files and snapshots against the log internal_records pure: records of the
coordinators
"""
