"""deburr scan, as typed objects. Written by python/generate from schema-scan.json: change that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "ScanFailure",
    "ScanSummary",
]


@dataclass(frozen=True)
class ScanFailure:
    """A path that could not be checked."""

    path: str
    """The path below the archive, with the member of a package after `!`; an index, with the place in it."""
    reason: str
    """Why, for people."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ScanFailure:
        return cls(
            path=it['path'],
            reason=it['reason'],
        )


@dataclass(frozen=True)
class ScanSummary:
    """What `deburr scan --format json` writes: how much was checked, and what could not be."""

    run: float
    """The moment by which the tables know this scan: column `run`. Seconds since 1970."""
    items: int
    """Packages, images and files of their own in the archive, or in the part of it."""
    kept: int
    """Of these, those whose rows were kept from an earlier scan."""
    checked: int
    """Of the others, those that were checked as a whole."""
    bytes_checked: int
    """Bytes of those that were checked, as the archive has them: not unpacked."""
    shard: str
    """The name of the files of the tables, without `.parquet`."""
    elapsed_seconds: float
    """Seconds of wall time."""
    failures: tuple[ScanFailure, ...]
    """What could not be checked, by path. It is in the table `files`, too."""

    @classmethod
    def _of(cls, it: Mapping[str, Any]) -> ScanSummary:
        return cls(
            run=it['run'],
            items=it['items'],
            kept=it['kept'],
            checked=it['checked'],
            bytes_checked=it['bytes_checked'],
            shard=it['shard'],
            elapsed_seconds=it['elapsed_seconds'],
            failures=tuple(ScanFailure._of(one) for one in it['failures']),
        )
