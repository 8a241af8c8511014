"""`deburr.ray.scan`: packages of a folder or a bucket → tables, by Ray Data.

    import deburr.ray

    done = deburr.ray.scan("s3://mirror/debian", "s3://tables/debian", run=1795219200)
    print(done.items, len(done.failures))

Paths go to Ray's tasks, and summaries come back; rows go from each task to the destination. `deburr.cluster` has what a task does.
Ray is needed: pip install 'deburr[ray]'.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

try:
    import pyarrow
    import ray
    import ray.data
except ImportError as error:
    raise ImportError("deburr.ray needs Ray: pip install 'deburr[ray]'") from error

from ._error import Error
from ._options import Path
from ._scan import Package
from ._summary import ScanFailure
from .cluster import SUMMARIES, Job, ShardSummary, _summary_of, table_of

__all__ = ["Scanned", "scan"]

_ERROR = pyarrow.struct([("path", pyarrow.string()), ("reason", pyarrow.string())])
_ROWS = SUMMARIES.append(pyarrow.field("error", _ERROR))


@dataclass(frozen=True)
class Scanned:
    """What a scan did."""

    run: int
    """The moment by which the tables know it, in seconds since 1970."""
    shards: tuple[ShardSummary, ...]
    """By name."""

    @property
    def items(self) -> int:
        """Packages, with those that were there before."""
        return sum(shard.items for shard in self.shards)

    @property
    def bytes(self) -> int:
        """Of the packages, as the list has them: not unpacked."""
        return sum(shard.bytes for shard in self.shards)

    @property
    def failures(self) -> tuple[ScanFailure, ...]:
        """What could not be checked, by path. It is in the table files, too."""
        return tuple(sorted((failure for shard in self.shards for failure in shard.failures), key=lambda one: one.path))


def scan(
    source: str,
    destination: str,
    *,
    run: int,
    packages: Iterable[Package] | None = None,
    suffixes: Sequence[str] | None = None,
    shard_bytes: int = 256 << 20,
    shard_items: int = 2000,
    options: Sequence[str] = (),
    config: Path | None = None,
    source_filesystem: Any = None,
    destination_filesystem: Any = None,
    scratch: str | None = None,
    concurrency: int | None = None,
    **ray_remote_args: Any,
) -> Scanned:
    """Scans packages by tasks of Ray, each of one CPU and one shard of the tables. Starts Ray, if nothing else has.

    source: a path that all machines have, or a URI such as s3://bucket/prefix; or a path in `source_filesystem`, which is of pyarrow
        or fsspec. destination: the directory of the tables, likewise.
    run: the moment by which the tables know the scan, in seconds since 1970. The same call goes on with a scan that was ended: shards
        that are there are not scanned again.
    packages: what is scanned, such as `deburr.list_archive(…).packages`, by paths below the source; None: what is there. suffixes: of
        that, what ends so; `Job.list_folder` says what None is.
    shard_bytes, shard_items: what a shard has, or one package more; a task has so much of its machine's `scratch` directory.
    options: of `deburr scan`, such as ["--baseline=claim"]. config: a deburr.toml, which this machine has.
    concurrency: the most tasks at a time. ray_remote_args: of Ray's tasks, such as memory=2 << 30 (bytes), num_cpus, max_retries.

    A package that cannot be had or checked is in `failures`. Raises Error where the destination cannot be written, and where the run
    was begun with another list or other options.
    """
    job = Job(
        source,
        destination,
        run,
        tuple(options),
        _text_of(config),
        source_filesystem,
        destination_filesystem,
        scratch,
    )
    listed = job.list_folder(suffixes) if packages is None else packages
    shards = job.begin(listed, shard_bytes=shard_bytes, shard_items=shard_items)
    if not shards:
        return Scanned(run, ())
    tables = [table_of([shard]) for shard in shards]
    # One block a shard, so that each is a task of its own.
    summaries = ray.data.from_arrow(tables).map_batches(
        _Task(job).__call__,
        batch_size=None,
        batch_format="pyarrow",
        concurrency=concurrency,
        **{"num_cpus": 1, **ray_remote_args},
    )
    done = []
    for row in summaries.iter_rows():
        if row["error"] is not None:
            raise Error(**row["error"])
        done.append(_summary_of({field: row[field] for field in SUMMARIES.names}))
    return Scanned(run, tuple(sorted(done, key=lambda shard: shard.shard)))


class _Task:
    """What a task runs. An error is a row: of an exception, Ray hands on no more than a trace."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def __call__(self, table: Any) -> Any:
        try:
            rows = self.job.scan_table(table).to_pylist()
        except Error as error:
            rows = [{"error": {"path": error.path, "reason": error.reason}}]
        return pyarrow.Table.from_pylist(rows, schema=_ROWS)


def _text_of(config: Path | None) -> str:
    if config is None:
        return ""
    try:
        with open(config, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Error(None, f"{config}: {error}") from error

