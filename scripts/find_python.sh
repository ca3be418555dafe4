#!/bin/sh
# Print the first Python >= 3.11 that can make a virtual environment: $1 when given, else the usual names.
check='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
for candidate in ${1:-python3.13 python3.12 python3.11 python3 python}; do
	if "$candidate" -c "$check" >/dev/null 2>&1; then
		command -v "$candidate"
		exit 0
	fi
done
found=$(${1:-python3} -V 2>&1 || true)
echo "shareq needs Python 3.11 or later with the venv module; ${1:-python3} here says: ${found:-not found}" >&2
echo "(on Debian or Ubuntu: apt install python3 python3-venv; or name one: make PYTHON=/path/to/python3.12 ...)" >&2
exit 1
