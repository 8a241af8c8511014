"""A scan by the module writes what the command writes, and one bad package is no exception."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import deburr
import pytest
from deburr import _native

import archives
from archives import TABLES, all_rows
from conftest import command

RUN = 1_700_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return archives.make(tmp_path / "archive")


def listed(archive: Path) -> list[tuple[str, Path]]:
    """What a scan of the folder finds, in an order that no folder has."""
    files = [path for path in archive.rglob("*") if path.is_file() and path.name != "README"]
    return [(str(path.relative_to(archive)), path) for path in sorted(files, reverse=True)]


def content(tables: Path, shard: str) -> list[bytes]:
    return [(tables / table / f"{shard}.parquet").read_bytes() for table in TABLES]


def test_a_list_an_archive_and_the_command_write_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    """Fails where the module has a scan of its own, or where order, names or threads change a row."""
    done = command("scan", "--tables", tmp_path / "command", "--run", RUN, "--baseline", "armv8-a", archive)
    assert done.returncode == 0, done.stderr
    whole = deburr.scan(archive, tmp_path / "whole", run=RUN, baseline="armv8-a", threads=2)
    given = deburr.scan(listed(archive), tmp_path / "given", run=RUN, baseline=["armv8-a"], threads=1)
    assert given.items == whole.items == given.checked == 15 and given.failures == ()
    assert given.shard == whole.shard and given.run == RUN
    of_command = content(tmp_path / "command", whole.shard)
    assert of_command == content(tmp_path / "whole", whole.shard) == content(tmp_path / "given", whole.shard)
    assert len(archives.rows(tmp_path / "given", "findings")) > 10
    other = deburr.scan(listed(archive), tmp_path / "other", run=RUN)
    assert other.shard != given.shard, "the baseline counts"


def test_a_bad_package_is_a_failure_and_a_row(archive: Path, tmp_path: Path) -> None:
    """Fails where one package ends the batch, or where what could not be had is in no table."""
    good = listed(archive)
    cut, words = tmp_path / "cut.tgz", tmp_path / "words.deb"
    cut.write_bytes((archive / "pool/1/p1.tgz").read_bytes()[:300])
    words.write_text("<html>not found</html>")
    bad: list[tuple[str, Path]] = [("cut.tgz", cut), ("words.deb", words), ("none.deb", tmp_path / "none.deb")]
    summary = deburr.scan([*good, *bad], tmp_path / "tables", run=RUN, missing=[("denied.deb", "access denied")])
    reasons = {failure.path.split("!")[0]: failure.reason for failure in summary.failures}
    assert set(reasons) == {"cut.tgz", "words.deb", "none.deb", "denied.deb"}
    assert "cut off" in reasons["cut.tgz"] and reasons["denied.deb"] == "access denied"
    assert reasons["none.deb"] == "no such file or directory" and reasons["words.deb"] == "no ELF file"
    files = archives.rows(tmp_path / "tables", "files")
    for reason in reasons.values():
        assert any(repr(reason) in row for row in files), reason
    clean = deburr.scan(good, tmp_path / "clean", run=RUN)
    assert set(archives.rows(tmp_path / "clean", "findings")) <= set(archives.rows(tmp_path / "tables", "findings"))
    assert clean.failures == ()


def test_a_name_that_is_no_text_is_spelt_out(archive: Path, tmp_path: Path) -> None:
    """Fails where one odd name ends the batch, or is another than the command's."""
    folder = tmp_path / "folder"
    folder.mkdir()
    place = folder / os.fsdecode(b"a\xff.tgz")
    shutil.copy(archive / "pool/1/p1.tgz", place)
    given = deburr.scan([(place.name, place)], tmp_path / "given", run=RUN)
    assert given.failures == () and given.shard == deburr.scan(folder, tmp_path / "whole", run=RUN).shard
    assert deburr.scan([place], tmp_path / "bare").failures == ()


def test_a_stated_hash_is_checked(archive: Path, tmp_path: Path) -> None:
    """Fails where other bytes than those of the index get into the tables."""
    place = archive / "pool/1/p1.tgz"
    right = deburr.Package("right.tgz", sha256=archives.hashlib.sha256(place.read_bytes()).hexdigest())
    wrong = deburr.Package("wrong.tgz", sha256="0" * 64)
    summary = deburr.scan([(right, place), (wrong, place)], tmp_path / "tables")
    assert [failure.path for failure in summary.failures] == ["wrong.tgz"]
    assert len(archives.rows(tmp_path / "tables", "artefacts")) == 1


def test_rows_are_kept_for_the_next_scan_of_this_very_module(archive: Path, tmp_path: Path) -> None:
    """Fails where a cache is asked by the interpreter's hash: all versions of the module would share their rows."""
    first = deburr.scan(listed(archive), tmp_path / "tables", cache=tmp_path / "cache")
    again = deburr.scan(listed(archive), tmp_path / "tables", cache=tmp_path / "cache")
    assert (first.kept, again.kept, again.shard) == (0, 15, first.shard)
    other = tmp_path / "other.so"
    shutil.copy(_native.__file__, other)
    with other.open("ab") as file:
        file.write(b"\0")
    document = _native.scan([f"--cache={tmp_path / 'cache'}"], str(archive), str(tmp_path / "tables"), str(other))
    assert b'"kept":0,' in document


def test_a_list_of_an_index_is_what_the_command_scans(archive: Path, tmp_path: Path) -> None:
    """Fails where the list has other packages, or lacks the index's hashes."""
    archives.index(archive)
    options = ["--suite=stable"]
    listing = deburr.list_archive(archive, options=options)
    assert listing.failures == () and len(listing.packages) == 3
    assert all(len(package.sha256 or "") == 64 and package.size > 0 for package in listing.packages)
    whole = deburr.scan(archive, tmp_path / "whole", run=RUN, options=options)
    given = deburr.scan([(one, archive / one.path) for one in listing.packages], tmp_path / "given", run=RUN)
    assert given.shard == whole.shard and whole.items == 3
    assert len(deburr.list_archive(archive, options=["--no-index"]).packages) == 15


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"options": ["--nonsense"]}, "--nonsense"),
        ({"options": ["--format=text"]}, "--format"),
        ({"options": ["--tables=elsewhere"]}, "--tables"),
        ({"options": ["elsewhere"]}, "a path among the options"),
        ({"options": ["--suite=x"]}, "packages are given"),
        ({"baseline": "no-such-cpu"}, "no-such-cpu"),
        ({"run": -1}, "--run"),
        ({"missing": [("pool/1/p1.tgz", "gone")]}, "given twice"),
    ],
)
def test_what_means_nothing_is_an_error_and_writes_nothing(
    words: dict[str, object], reason: str, archive: Path, tmp_path: Path
) -> None:
    with pytest.raises(deburr.Error) as caught:
        deburr.scan(listed(archive), tmp_path / "tables", **words)  # type: ignore[arg-type]
    assert reason in caught.value.reason and caught.value.path is None
    assert not list(tmp_path.glob("tables/artefacts/*"))


def test_tables_that_cannot_be_written_are_an_error(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in [tmp_path / "file", Path("/proc/none"), Path("")]:
        with pytest.raises(deburr.Error) as caught:
            deburr.scan(listed(archive), place if place.name else "")
        assert caught.value.reason
    with pytest.raises(deburr.Error, match="no such file or directory"):
        deburr.scan(tmp_path / "none", tmp_path / "tables")
    with pytest.raises(deburr.Error, match="no such file or directory"):
        deburr.list_archive(tmp_path / "none")
    with pytest.raises(TypeError):
        deburr.scan(archive, tmp_path / "tables", missing=[("a", "b")])


def test_a_scan_of_nothing_is_an_empty_shard(tmp_path: Path) -> None:
    summary = deburr.scan([], tmp_path / "tables")
    assert summary.items == 0 and all_rows(tmp_path / "tables") == {table: [] for table in TABLES}


def test_other_threads_run_meanwhile(archive: Path, tmp_path: Path) -> None:
    """Fails where Python's lock is held: this thread would not run before the scan is over."""
    packages = [(f"{number}/{name}", place) for number in range(3) for name, place in listed(archive)]
    done: list[deburr.ScanSummary] = []
    thread = threading.Thread(target=lambda: done.append(deburr.scan(packages, tmp_path / "tables", threads=1)))
    thread.start()
    turns = 0
    while not done:
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert done[0].items == 45 and turns > 20


def test_nothing_is_printed(archive: Path, tmp_path: Path) -> None:
    code = f"import deburr; deburr.scan({str(archive)!r}, {str(tmp_path / 'tables')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
