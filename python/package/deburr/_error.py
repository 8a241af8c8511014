"""Why there is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._check import Report


class Error(Exception):
    """Nothing could be read of an input that the caller named, or the options mean nothing."""

    path: str | None
    """The input; None where it is about none."""
    reason: str
    """Why, for people."""
    report: Report | None
    """What was found in all other inputs, if the run came that far."""

    def __init__(self, path: str | None, reason: str, report: Report | None = None) -> None:
        super().__init__(path, reason)
        self.path, self.reason, self.report = path, reason, report

    def __str__(self) -> str:
        return self.reason if self.path is None else f"{self.path}: {self.reason}"
