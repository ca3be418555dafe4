"""What the console's views show, as JSON's values: functions of an administrator's client, one file a subject."""
