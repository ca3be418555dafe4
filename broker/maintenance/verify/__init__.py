"""`shareq verify`: checks every file of a data folder, and reports faults.

findings          pure: what was found, what it means, what can be done about it
folder            the whole folder: what the files are of, in which order they are read
metadata          marker, database and journal
promises          checkpoints and manifest: where logs begin, how far they must go
logs              one partition: segments, indexes, snapshots, what is beside them
segments          pure: one `.log` file, byte by byte
indexes           pure: index files and snapshots against the log
internal_records  pure: records of the coordinators
"""
