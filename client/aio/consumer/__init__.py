"""A share group's member on the event loop: it delivers, holds, acknowledges and renews records one by one."""
