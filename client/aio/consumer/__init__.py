"""A share group's member on the event loop: records are handed out, held, acknowledged and renewed one by one."""
