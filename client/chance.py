"""A source of randomness for clients: the module `random` belongs to the application.

A client in the background would otherwise change what an application draws after seeding it.
"""

from __future__ import annotations

import os
import random
from typing import Final

CHANCE: Final = random.Random()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CHANCE.seed)  # else all children would choose alike
