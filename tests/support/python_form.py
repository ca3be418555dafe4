"""To be imported before anything of the broker, by what changes it or looks at its insides: has the Python form run.

Compiled classes have their methods and attributes fixed. In a run of pytest, its option --form decides.
"""

import sys

from shareq.compiled import stay_pure

if "pytest" not in sys.modules:
    stay_pure()
