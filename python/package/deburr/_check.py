"""`deburr.check`: binaries → a report, by the code of `deburr check`."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Union

from . import _native, _options
from ._error import Error
from ._options import Names, Path
from ._report import AcrossFinding, Document, File, Skipped, Statistics

if TYPE_CHECKING:
    from ._native import ArrowTable

Bytes = Union[bytes, bytearray, memoryview]
Input = Union[Path, Bytes, "tuple[str, Bytes]"]
"""A path (a file, a directory, a package), bytes, or bytes with a name."""

BYTES = (bytes, bytearray, memoryview)
ROWS_SHOWN = 20


class Report:
    """What a check found. It has no more than the JSON document, from which objects are made when they are wanted."""

    def __init__(self, checked: _native.Checked) -> None:
        # Apart, so that a report without tables can go to another process.
        self._json, self._status, self._complaints = checked.json, checked.status, checked.complaints
        self._tables = checked.tables

    def to_json(self) -> bytes:
        """The document of `deburr check --format json` for the same input, byte for byte: UTF-8, with a line end."""
        return self._json

    @cached_property
    def document(self) -> Document:
        """All of it, as `deburr schema` describes it."""
        return Document._of(json.loads(self._json))

    @property
    def files(self) -> tuple[File, ...]:
        """The binaries that were checked, by path; members of archives and packages are files."""
        return self.document.files

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was not checked, with the reasons."""
        return self.document.skipped

    @property
    def across_files(self) -> tuple[AcrossFinding, ...]:
        """Findings by comparison of files."""
        return self.document.across_files

    @property
    def statistics(self) -> Statistics:
        """Sums of the run; sizes are bytes."""
        return self.document.statistics

    @property
    def status(self) -> int:
        """The command's exit status: 0 clean, 1 findings at or above fail-on (warning), 2 some file could not be checked."""
        return self._status

    @property
    def complaints(self) -> str:
        """What the command writes to the standard error: warnings about the configuration, and files that were left out."""
        return self._complaints

    def tables(self) -> dict[str, ArrowTable]:
        """The rows of `--format parquet`, by table: artefacts, files, functions, findings. docs/reference/tables.md has the columns.

        Each has `__arrow_c_stream__`: `polars.DataFrame(t)`, `pyarrow.table(t)` and `duckdb.from_arrow(pyarrow.table(t))` take
        it without a copy. Wants `check(..., tables=True)`, as rows take hashes of all input.
        """
        if self._tables is None:
            raise Error(None, "no tables: call check with tables=True")
        return dict(self._tables)

    def __repr__(self) -> str:
        return f"<deburr report: status {self.status}, {len(self._json)} bytes of JSON>"

    def _repr_html_(self) -> str:
        """A short table, for notebooks: text alone, no script."""
        columns = ["file", "runs on", "contains", "functions above the first level", "findings"]
        rows = [
            [file.path, file.level, file.level_present, str(len(file.isa_functions)), str(len(file.findings))]
            for file in self.files[:ROWS_SHOWN]
        ]
        lines = [_row("th", columns)] + [_row("td", row) for row in rows]
        notes = []
        if len(self.files) > ROWS_SHOWN:
            notes.append(f"and {len(self.files) - ROWS_SHOWN} more files")
        if self.skipped:
            notes.append(f"{len(self.skipped)} skipped")
        return f"<table>{''.join(lines)}</table>" + "".join(f"<p>{html.escape(note)}</p>" for note in notes)


def _row(cell: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{html.escape(text)}</{cell}>" for text in texts) + "</tr>"


def _several(inputs: Input | Iterable[Input]) -> Iterable[Input]:
    if isinstance(inputs, (str, os.PathLike, *BYTES)):
        return [inputs]
    if isinstance(inputs, tuple) and len(inputs) == 2:
        name, content = inputs
        if isinstance(name, str) and isinstance(content, BYTES):
            return [(name, content)]
    return inputs


def check(
    inputs: Input | Iterable[Input],
    *,
    target: Names = (),
    baseline: Names = (),
    select: Names = (),
    ignore: Names = (),
    preview: bool = False,
    strict: bool = False,
    threads: int | None = None,
    config: Path | None = None,
    options: Sequence[str] = (),
    tables: bool = False,
) -> Report:
    """Checks binaries, as `deburr check` does; a `deburr.toml` above the current directory counts here, too.

    inputs: a path, bytes, `(name, bytes)`, or a list of these. Unnamed bytes are called `-`, as the standard input is.
    target: what every machine that will run the files has, such as "x86-64-v3": one for each architecture.
    baseline: the most that the files may use; "claim": what their packages say of themselves.
    select, ignore: ids of rules (`deburr.rules()`).
    preview: also rules that guess. strict: warn of what is not proven.
    threads: one per CPU if None. config: the configuration, instead of the nearest deburr.toml.
    options: further words of the command line, such as ["--closure"], but none that write files.
    tables: whether `Report.tables()` is wanted.

    Raises Error where nothing could be read of an input that was named; `Error.report` has all others. What could not be read
    below a directory or in a package is in `Report.skipped`, and `Report.status` is 2. The GIL is released.
    """
    words = _options.words(
        target=target,
        baseline=baseline,
        select=select,
        ignore=ignore,
        preview=preview,
        strict=strict,
        threads=threads,
        config=config,
    )
    paths: list[str] = []
    held: list[tuple[str, bytes]] = []
    for one in _several(inputs):
        if isinstance(one, tuple):
            name, content = one
            if not isinstance(content, BYTES):
                raise TypeError(f"{name}: bytes expected, not {type(content).__name__}")
            held.append((name, bytes(content)))
        elif isinstance(one, BYTES):
            held.append(("-", bytes(one)))
        else:
            paths.append(os.fspath(one))
    if not paths and not held:
        raise Error(None, "nothing to check: no paths and no bytes")
    checked = _native.check([*words, *options], paths, held, tables)
    report = Report(checked)
    if checked.refused is not None:
        raise Error(*checked.refused, report)
    return report
