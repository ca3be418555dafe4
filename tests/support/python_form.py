"""To be imported before anything of the broker, by what changes it or looks at its insides: has the Python form run.

Compiled classes have their methods and attributes fixed. In a run of pytest, TEST_FORM=compiled has them run in
the test process as well; brokers that are processes of their own run the compiled form in any case. It is no option of
pytest: conftests below `tests/` import the modules before options are parsed.
"""

import os
import sys
from typing import Final

from shareq.compiled import stay_pure

FORM: Final = os.environ.get("TEST_FORM", "python") if "pytest" in sys.modules else "python"

if FORM not in ("python", "compiled"):
    raise ValueError(f"TEST_FORM is python or compiled, not {FORM!r}")
if FORM == "python":
    stay_pure()
