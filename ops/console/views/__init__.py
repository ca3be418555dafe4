"""The console's views, as JSON's values: functions of an administrator's client, one file a subject."""
