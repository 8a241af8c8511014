"""deburr as a module: checks machine code, and compares measurements, by the very code of the command.

    import deburr

    report = deburr.check("/usr/bin/bash", target="x86-64-v2")
    for file in report.files:
        print(file.path, file.level, [finding.message for finding in file.findings])

Addresses are texts such as "0x4a10", as in the JSON report; sizes are bytes.
"""

from __future__ import annotations

from . import _native
from ._check import Report, check
from ._compare import compare
from ._comparison import Comparison
from ._error import Error
from ._report import Document, File, Finding, IsaFunction
from ._rules import Rule, rules
from ._scan import Listing, Package, list_archive, scan
from ._summary import ScanFailure, ScanSummary

__all__ = [
    "Comparison",
    "Document",
    "Error",
    "File",
    "Finding",
    "IsaFunction",
    "Listing",
    "Package",
    "Report",
    "Rule",
    "ScanFailure",
    "ScanSummary",
    "check",
    "compare",
    "list_archive",
    "rules",
    "scan",
]

__version__: str = _native.VERSION
"""The version of deburr; the command of the same version says the same."""
