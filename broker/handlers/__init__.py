"""The handlers: one file for each RPC, one folder for each subject. `dispatch/table.py` has their versions."""
