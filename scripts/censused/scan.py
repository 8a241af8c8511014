"""Packages → tables, by `deburr scan` as the census runs it."""

import subprocess

from censused.groups import Fault


def packages(deburr, tables, folder, cache):
    """Checks all packages of a folder into tables; `cache` may be None."""
    command = [deburr, "scan", "--no-index", "--baseline", "claim", "--tables", tables, *(["--cache", cache] if cache else []), folder]
    status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    # Members that cannot be checked are failures of a scan, and rows of the census.
    if status not in (0, 1):
        raise Fault(f"deburr scan: status {status}")
