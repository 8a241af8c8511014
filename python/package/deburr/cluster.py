"""A scan on many machines: packages of a folder or a bucket → shards of about equal size → tables, each shard by a task of its own.

    job = Job("s3://mirror/debian", "s3://tables/debian", run=1795219200)
    shards = job.begin(job.list_folder())
    summaries = [job.scan(shard) for shard in shards]        # in any order, on any machines, any number of times

What runs the tasks is somebody else's: Ray (`deburr.ray`), Spark, Slurm. What a task takes is paths, and what it gives is a summary; the
rows go to the destination, where the shard is as a whole or not at all. Whatever ends a scan, the same calls go on from there.

pyarrow is needed: pip install 'deburr[cluster]'.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

try:
    import pyarrow
    import pyarrow.fs
except ImportError as error:
    raise ImportError("deburr.cluster needs pyarrow: pip install 'deburr[cluster]'") from error

from . import _native
from ._error import Error
from ._scan import Package, list_archive, scan
from ._summary import ScanFailure

__all__ = ["SHARDS", "SUFFIXES", "SUMMARIES", "Job", "Shard", "ShardSummary", "shards_of", "table_of"]

SUFFIXES = (
    ".apk",
    ".conda",
    ".ddeb",
    ".deb",
    ".rpm",
    ".so",
    ".tar",
    ".tar.bz2",
    ".tar.gz",
    ".tar.xz",
    ".tar.zst",
    ".tgz",
    ".udeb",
    ".whl",
    ".zip",
)
"""What a package's name ends with, where a list has no contents to look at."""

SHARDS = pyarrow.schema(
    [
        ("shard", pyarrow.string()),
        ("packages", pyarrow.list_(pyarrow.struct([("path", pyarrow.string()), ("size", pyarrow.int64()), ("sha256", pyarrow.string())]))),
    ]
)
"""The columns of shards, as tasks take them: name and packages."""

SUMMARIES = pyarrow.schema(
    [
        ("shard", pyarrow.string()),
        ("items", pyarrow.int64()),
        ("failures", pyarrow.list_(pyarrow.struct([("path", pyarrow.string()), ("reason", pyarrow.string())]))),
        ("bytes", pyarrow.int64()),
        ("seconds", pyarrow.float64()),
        ("kept", pyarrow.bool_()),
    ]
)
"""The columns of summaries, as tasks give them: the fields of `ShardSummary`."""

# The artefacts last: a shard whose artefacts are there is there as a whole.
_TABLES = ("functions", "findings", "files", "artefacts")
# Folders are keys' beginnings there, and nothing that is made.
_WITHOUT_FOLDERS = ("s3", "gcs", "abfs")
_PIECE = 1 << 20
# The most that is fetched of a package whose size no list says; no larger file is checked.
_MOST = 8 << 30
_TRIES = 4
_SECONDS_BETWEEN = 0.5


@dataclass(frozen=True)
class Shard:
    """Packages that one task scans."""

    name: str
    """32 hexadecimal digits: a hash of the packages, the run, the options and the version of deburr."""
    packages: tuple[Package, ...]


@dataclass(frozen=True)
class ShardSummary:
    """What became of a shard."""

    shard: str
    """The name of its files in the tables, without `.parquet`."""
    items: int
    """Packages that it has."""
    failures: tuple[ScanFailure, ...]
    """What could not be checked, as the table files has it, too."""
    bytes: int
    """Of its packages, as the list has them: not unpacked."""
    seconds: float
    """Of wall time, with all transfers; of the task that wrote it."""
    kept: bool
    """Whether it was there before, and nothing was done."""


class _Unreadable(Exception):
    """A package cannot be had, for that reason."""


@dataclass(frozen=True)
class Job:
    """A scan on many machines. It can be pickled, and what it does can be done twice."""

    source: str
    """Where the packages are: a path that all machines have, or a URI such as s3://bucket/prefix."""
    destination: str
    """The directory of the tables, likewise."""
    run: int
    """The moment by which the tables know the scan, in seconds since 1970. A scan that was ended goes on under the same run."""
    options: tuple[str, ...] = ()
    """Options of `deburr scan`, such as ("--baseline=claim", "--preview"), without places."""
    config: str = ""
    """The text of a deburr.toml. None that is near a task counts."""
    source_filesystem: Any = None
    """A file system of pyarrow or fsspec, in which `source` is a path."""
    destination_filesystem: Any = None
    """Likewise."""
    scratch: str | None = None
    """A directory of each machine, with room for the packages of one shard a task; that of temporary files if None."""

    def list_folder(self, suffixes: Sequence[str] | None = None) -> list[Package]:
        """The packages below the source.

        suffixes: the ends of their names. If None, a folder of this machine has what `deburr scan` finds there by contents, images and
        binaries, too, and object storage, where a list has no contents, what ends with one of `SUFFIXES`. Raises Error where
        something cannot be listed.
        """
        filesystem, root = _place(self.source, self.source_filesystem)
        if isinstance(filesystem, pyarrow.fs.LocalFileSystem):
            listing = list_archive(root, options=["--no-index"])
            for failure in listing.failures:
                raise Error(failure.path, failure.reason)
            found = list(listing.packages)
        else:
            with _refused(self.source):
                infos = filesystem.get_file_info(pyarrow.fs.FileSelector(root, recursive=True))
            files = (info for info in infos if info.type == pyarrow.fs.FileType.File)
            found = [Package(info.path[len(root) :].lstrip("/"), info.size or 0) for info in files]
            suffixes = SUFFIXES if suffixes is None else suffixes
        wanted = (package for package in found if suffixes is None or package.path.endswith(tuple(suffixes)))
        return sorted(wanted, key=_path_of)

    def begin(self, packages: Iterable[Package], *, shard_bytes: int = 256 << 20, shard_items: int = 2000) -> list[Shard]:
        """Cuts a list into shards, always the same of the same list, and notes it under the run at the destination.

        packages: of `list_folder`, or of `deburr.list_archive`, by their paths below the source.
        shard_bytes, shard_items: what a shard has, or one package more. A task has so much of its disk.

        Raises Error where the destination cannot be written, where the options mean nothing, and where the run was begun with another
        list, other options or another version of deburr: some packages would be in its tables twice.
        """
        with _scratch(self.scratch) as folder:
            self._scan([], [], folder)
        listed = sorted(packages, key=_path_of)
        for package in listed:
            if "://" in package.path or package.path.startswith("/") or not {"", ".."}.isdisjoint(package.path.replace("\0", "//").split("/")):
                raise Error(package.path, "no path below the source")
        for one, other in zip(listed, listed[1:]):
            if one.path == other.path:
                raise Error(one.path, "a package of that path is listed twice")
        shards = shards_of(listed, self._identity(), shard_bytes=shard_bytes, shard_items=shard_items)
        filesystem, root = _place(self.destination, self.destination_filesystem)
        note = f"{root}/scans/run-{self.run}.json"
        own = {"shards": hashlib.sha256("\0".join(shard.name for shard in shards).encode()).hexdigest()}
        with _refused(self.destination):
            before = _read(filesystem, note)
            if before is None:
                _write(filesystem, root, note, own)
                # Another scan may have begun at once.
                before = _read(filesystem, note)
        if before != own:
            raise Error(
                self.destination,
                f"run {self.run} was begun with other packages, options or sizes of shards, or by another deburr: give another run",
            )
        return shards

    def scan(self, shard: Shard) -> ShardSummary:
        """Scans a shard, unless it is there: fetches its packages, checks them by one thread, and writes their rows.

        A package that cannot be had is a failure, after some tries; a shard with one is scanned again the next time. Raises Error where
        the destination cannot be written, or this disk.
        """
        began = time.monotonic()
        filesystem, root = _place(self.destination, self.destination_filesystem)
        with _refused(self.destination):
            before = self._done(filesystem, root, shard)
        if before is not None:
            return before
        with _scratch(self.scratch) as folder:
            here, missing = self._fetch(shard.packages, folder)
            summary = self._scan(here, missing, folder)
            written = {
                "shard": shard.name,
                "items": len(shard.packages),
                "failures": [asdict(failure) for failure in summary.failures],
                "bytes": sum(package.size for package in shard.packages),
                "seconds": time.monotonic() - began,
            }
            with _refused(self.destination):
                # Another task may have been faster.
                if self._done(filesystem, root, shard) is None:
                    tables = {table: folder / "tables" / table / f"{summary.shard}.parquet" for table in _TABLES}
                    _publish(filesystem, root, shard.name, tables)
                    sizes = {table: file.stat().st_size for table, file in tables.items()}
                    _write(filesystem, root, _note(root, shard), {**written, "unread": len(missing), "sizes": sizes})
        return _summary_of({**written, "kept": False})

    def scan_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Batches with the columns of `SHARDS` → batches with those of `SUMMARIES`: what Spark's `mapInArrow` calls."""
        for batch in batches:
            yield pyarrow.RecordBatch.from_pylist(self._rows(batch), schema=SUMMARIES)

    def scan_table(self, table: Any) -> Any:
        """A table with the columns of `SHARDS` → one with those of `SUMMARIES`: what Ray's `map_batches` calls."""
        return pyarrow.Table.from_pylist(self._rows(table), schema=SUMMARIES)

    def _rows(self, rows: Any) -> list[dict[str, Any]]:
        shards = (Shard(row["shard"], tuple(Package(**package) for package in row["packages"])) for row in rows.to_pylist())
        return [asdict(self.scan(shard)) for shard in shards]

    def _identity(self) -> str:
        return json.dumps([_native.VERSION, self.run, self.options, self.config])

    def _scan(self, here: list[tuple[Package, str]], missing: list[tuple[str, str]], folder: Path) -> Any:
        config = folder / "deburr.toml"
        config.write_text(self.config)
        return scan(
            here, folder / "tables", run=self.run, cache=folder / "cache", missing=missing, threads=1, config=config, options=self.options
        )

    def _done(self, filesystem: Any, root: str, shard: Shard) -> ShardSummary | None:
        before = _read(filesystem, _note(root, shard))
        if before is None:
            return None
        try:
            sizes, unread = before.pop("sizes"), before.pop("unread")
            listed = [sizes[table] for table in _TABLES]
            summary = _summary_of({**before, "kept": True})
        except (KeyError, TypeError) as error:
            raise Error(_note(root, shard), f"no note of a shard: {error}") from error
        # Others than the note's are of a task that came between, or nobody's.
        there = filesystem.get_file_info([_file(root, table, shard.name) for table in _TABLES])
        return None if unread or [info.size for info in there] != listed else summary

    def _fetch(self, packages: Iterable[Package], folder: Path) -> tuple[list[tuple[Package, str]], list[tuple[str, str]]]:
        """The packages with their places on this machine, and those that cannot be had."""
        filesystem, root = _place(self.source, self.source_filesystem)
        here: list[tuple[Package, str]] = []
        missing: list[tuple[str, str]] = []
        is_local = isinstance(filesystem, pyarrow.fs.LocalFileSystem)
        for number, package in enumerate(packages):
            place = f"{root}/{package.path}" if is_local else str(folder / str(number))
            try:
                if not is_local:
                    _fetch(filesystem, f"{root}/{package.path}", package.size, place)
                here.append((package, place))
            except _Unreadable as error:
                missing.append((package.path, str(error)))
                with suppress(FileNotFoundError):
                    os.unlink(place)
            except OSError as error:
                raise Error(str(folder), str(error)) from error
        return here, missing


def shards_of(packages: Iterable[Package], identity: str, *, shard_bytes: int, shard_items: int) -> list[Shard]:
    """Cuts packages into shards by their paths: one ends where it has so many bytes or packages."""
    shards: list[Shard] = []
    own: list[Package] = []
    size = 0
    listed = sorted(packages, key=_path_of)
    for number, package in enumerate(listed, 1):
        own.append(package)
        size += package.size
        if size >= shard_bytes or len(own) >= shard_items or number == len(listed):
            content = json.dumps([identity, [(one.path, one.size, one.sha256) for one in own]])
            shards.append(Shard(hashlib.sha256(content.encode()).hexdigest()[:32], tuple(own)))
            own, size = [], 0
    return shards


def _path_of(package: Package) -> str:
    return package.path


def table_of(shards: Iterable[Shard]) -> Any:
    """Shards as a table with the columns of `SHARDS`."""
    rows = [{"shard": shard.name, "packages": [asdict(package) for package in shard.packages]} for shard in shards]
    return pyarrow.Table.from_pylist(rows, schema=SHARDS)


def _summary_of(row: dict[str, Any]) -> ShardSummary:
    return ShardSummary(**{**row, "failures": tuple(ScanFailure(**failure) for failure in row["failures"])})


def _file(root: str, table: str, shard: str) -> str:
    return f"{root}/{table}/{shard}.parquet"


def _note(root: str, shard: Shard) -> str:
    return f"{root}/scans/{shard.name}.json"


@contextmanager
def _refused(place: str) -> Iterator[None]:
    """What a file system says against it is an error with the place."""
    try:
        yield
    except Error:
        raise
    except Exception as error:  # Any, of a file system that is the user's.
        raise Error(place, str(error) or type(error).__name__) from error


def _place(place: str, filesystem: Any) -> tuple[Any, str]:
    """A file system of pyarrow, and the path in it."""
    if filesystem is None and "://" not in place:
        return pyarrow.fs.LocalFileSystem(), os.path.abspath(place)
    with _refused(place):
        if filesystem is None:
            try:
                filesystem, place = pyarrow.fs.FileSystem.from_uri(place)
            except pyarrow.ArrowInvalid:
                # What pyarrow does not know, fsspec may.
                from fsspec.core import url_to_fs

                filesystem, place = url_to_fs(place)
        if not isinstance(filesystem, pyarrow.fs.FileSystem):
            filesystem = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(filesystem))
    return filesystem, place.rstrip("/")


class _Interrupted(Exception):
    """A package was not read to its end."""


def _fetch(filesystem: Any, path: str, size: int, place: str) -> None:
    for again in range(_TRIES):
        try:
            return _copy(filesystem, path, size, place)
        except _Interrupted as error:
            if again + 1 == _TRIES:
                raise _Unreadable(str(error)) from error
            time.sleep(_SECONDS_BETWEEN * 2**again)


def _copy(filesystem: Any, path: str, size: int, place: str) -> None:
    most = size or _MOST
    copied = 0
    with open(place, "wb") as out:
        with _reading():
            stream = filesystem.open_input_stream(path)
        with stream:
            while True:
                with _reading():
                    piece = stream.read(_PIECE)
                if not piece:
                    break
                copied += len(piece)
                if copied > most:
                    raise _Unreadable(f"more than the {most} bytes that it may have")
                out.write(piece)
    if size and copied != size:
        raise _Interrupted(f"{copied} bytes, where {size} are listed")


@contextmanager
def _reading() -> Iterator[None]:
    """What the source says is the package's failure, and what this disk says is not."""
    try:
        yield
    except FileNotFoundError:
        raise _Unreadable("no such file or directory") from None
    except Exception as error:  # Any, of a file system that is the user's.
        raise _Interrupted(str(error) or type(error).__name__) from error


def _read(filesystem: Any, path: str) -> dict[str, Any] | None:
    """A note, if it is there."""
    try:
        with filesystem.open_input_stream(path) as stream:
            read = json.loads(stream.read())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise Error(path, f"no note of a scan: {error}") from error
    if not isinstance(read, dict):
        raise Error(path, "no note of a scan")
    return read


def _write(filesystem: Any, root: str, path: str, content: dict[str, Any]) -> None:
    with _incoming(filesystem, root) as incoming:
        _upload(filesystem, json.dumps(content).encode(), f"{incoming}/note")
        _move(filesystem, f"{incoming}/note", path)


def _publish(filesystem: Any, root: str, shard: str, tables: dict[str, Path]) -> None:
    """Writes all files under other names first, and then gives them their own."""
    with _incoming(filesystem, root) as incoming:
        for table, file in tables.items():
            _upload(filesystem, file.read_bytes(), f"{incoming}/{table}")
        # One that was written before may have other rows: it is none while some of its files are of this one.
        artefacts = _file(root, "artefacts", shard)
        if filesystem.get_file_info(artefacts).type == pyarrow.fs.FileType.File:
            filesystem.delete_file(artefacts)
        for table in tables:
            _move(filesystem, f"{incoming}/{table}", _file(root, table, shard))


@contextmanager
def _incoming(filesystem: Any, root: str) -> Iterator[str]:
    """A folder at the destination, which no pattern of tables names."""
    folder = f"{root}/incoming/{uuid.uuid4().hex}"
    _make_folder(filesystem, folder)
    try:
        yield folder
    finally:
        with suppress(OSError):
            filesystem.delete_dir(folder)


def _make_folder(filesystem: Any, folder: str) -> None:
    if filesystem.type_name not in _WITHOUT_FOLDERS:
        filesystem.create_dir(folder, recursive=True)


def _upload(filesystem: Any, content: bytes, path: str) -> None:
    with filesystem.open_output_stream(path) as out:
        out.write(content)


def _move(filesystem: Any, source: str, path: str) -> None:
    _make_folder(filesystem, path.rpartition("/")[0])
    filesystem.move(source, path)


@contextmanager
def _scratch(parent: str | None) -> Iterator[Path]:
    """A folder of this machine, which goes away afterwards; and those that killed tasks have left do so now."""
    places = Path(parent or tempfile.gettempdir())
    for left in places.glob("deburr-scan-*"):
        with suppress(OSError):
            _sweep(left)
    # The name says that it is locked, for as long as this process lives.
    try:
        new = tempfile.mkdtemp(prefix="deburr-new-", dir=places)
    except OSError as error:
        raise Error(str(places), str(error)) from error
    lock = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    folder = Path("deburr-scan-".join(new.rsplit("deburr-new-", 1)))
    try:
        os.rename(new, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _sweep(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
