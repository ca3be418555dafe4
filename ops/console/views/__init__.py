"""The console's views as JSON values: functions of an administrator's client, one file for each subject."""
