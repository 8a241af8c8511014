"""`deburr.scan`: an archive, or packages one by one → tables, by the code of `deburr scan`."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Union

from . import _native, _options
from ._options import Names, Path
from ._summary import ScanFailure, ScanSummary


@dataclass(frozen=True)
class Package:
    """A package of an archive, a folder or a bucket."""

    path: str
    """Below the archive: the tables have it so."""
    size: int = 0
    """Bytes; 0 where nobody says."""
    sha256: str | None = None
    """Of its bytes, where an index states it: other bytes are a failure."""


@dataclass(frozen=True)
class Listing:
    """What an archive holds."""

    packages: tuple[Package, ...]
    """By path, each once."""
    failures: tuple[ScanFailure, ...]
    """What could not be listed."""


Given = Union[Path, "tuple[Union[str, Package], Path]"]
"""A file of this machine, or the package that it is, or the path that the tables shall have, with the file."""


def scan(
    packages: Path | Iterable[Given],
    tables: Path,
    *,
    run: int | None = None,
    cache: Path | None = None,
    missing: Iterable[tuple[str, str]] = (),
    target: Names = (),
    baseline: Names = (),
    select: Names = (),
    ignore: Names = (),
    preview: bool = False,
    strict: bool = False,
    threads: int | None = None,
    config: Path | None = None,
    options: Sequence[str] = (),
) -> ScanSummary:
    """Scans packages into one shard of the tables, as `deburr scan --tables DIR` does: docs/reference/tables.md has the columns.

    packages: an archive (a folder or a URL, as the command takes it), or a list. Of a list, a file has its own path in the tables, and
        `(path, file)` or `(Package(path, …), file)` has another. What is listed and is no package is a failure.
    tables: the directory of the tables. The shard there is named by its rows: the same packages are the same shard.
    run: the moment by which the tables know the scan, in seconds since 1970; now if None. The same list with the same run replaces
        what it wrote.
    cache: where rows are kept for later scans; `cache` in the directory of the tables if None.
    missing: what you could not get of a list: path and reason. It becomes rows of the table files, as what cannot be read does.
    options: further words of the command line, such as ["--suite=bookworm"], but no format.
    The others are those of `check`. The GIL is released.

    What cannot be checked is in `failures` of the result, and raises nothing. Raises Error where the tables were not written: the
    archive cannot be listed, the disk is full, the options mean nothing.
    """
    made = _options.words(
        target=target,
        baseline=baseline,
        select=select,
        ignore=ignore,
        preview=preview,
        strict=strict,
        threads=threads,
        config=config,
    )
    made += [f"--run={run}"] if run is not None else []
    made += [f"--cache={os.fspath(cache)}"] if cache is not None else []
    scanned: str | tuple[list[tuple[str, str, str | None]], list[tuple[str, str]]]
    if isinstance(packages, (str, os.PathLike)):
        scanned = os.fspath(packages)
        if list(missing):
            raise TypeError("missing: only a list of packages has some")
    else:
        scanned = ([_given(one) for one in packages], [(_text(path), reason) for path, reason in missing])
    done = _native.scan([*made, *options], scanned, os.fspath(tables), _native.__file__)
    return ScanSummary._of(json.loads(done))


def _given(one: Given) -> tuple[str, str, str | None]:
    package, place = one if isinstance(one, tuple) else (os.fspath(one), one)
    if isinstance(package, Package):
        return _text(package.path), os.fspath(place), package.sha256
    return _text(package), os.fspath(place), None


def _text(path: str) -> str:
    """Bytes that are no UTF-8 are spelt out, as the command does it."""
    return os.fsencode(path).decode(errors="backslashreplace")


def list_archive(archive: Path, *, options: Sequence[str] = ()) -> Listing:
    """What `deburr scan ARCHIVE` would scan, by the archive's index where it has one: nothing else is fetched or read.

    archive: a folder or a URL. options: what is wanted of it, such as ["--suite=bookworm", "--architecture=arm64"].
    Raises Error where it cannot be listed.
    """
    with tempfile.TemporaryDirectory(prefix="deburr-") as scratch:
        listed = json.loads(_native.list_archive(options, os.fspath(archive), scratch))
    return Listing(
        tuple(Package(**package) for package in listed["packages"]),
        tuple(ScanFailure(**failure) for failure in listed["failures"]),
    )
