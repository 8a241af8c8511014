"""A scan by Ray is the scan of one machine, whatever worker or driver is killed meanwhile. test_cluster.py has what a task does."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deburr
import pytest

import archives
import recipe
from archives import TABLES, all_rows
from conftest import command
from storage import Storage

RUN = 1_700_000_000
BAD = {"pool/1/cut1.tgz", "pool/0/cut0_1_arm64.deb"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good packages, and two that are cut off."""
    folder = archives.make(tmp_path_factory.mktemp("archive"), packages=24)
    for name in ["pool/1/p1.tgz", "pool/0/p0_1_arm64.deb"]:
        (folder / name.replace("p0", "cut0").replace("p1", "cut1")).write_bytes((folder / name).read_bytes()[:1500])
    return folder


@pytest.fixture(scope="module")
def whole(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The rows of the command on one machine."""
    tables = tmp_path_factory.mktemp("whole")
    done = command("scan", "--tables", tables, "--run", RUN, archive)
    assert done.returncode == 1 and all(name.encode() in done.stderr for name in BAD)
    return all_rows(tables)


@pytest.fixture(scope="module")
def cluster(storage: Storage) -> Iterator[str]:
    """A cluster of two workers on this machine: its address. It begins after the storage, whose keys its processes have."""
    import ray

    context = ray.init(num_cpus=2, object_store_memory=80 << 20, include_dashboard=False, log_to_driver=False)
    yield context.address_info["gcs_address"]
    ray.shutdown()


def scan(source: str, destination: str, **words: Any) -> Any:
    import deburr.ray

    return deburr.ray.scan(source, destination, run=RUN, **{"shard_bytes": 20_000, **words})


def until(condition: Callable[[], Any]) -> Any:
    """What a condition says, once it says something."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.002)
    raise AssertionError("it never happened")


def names_of(done: Any) -> set[str]:
    return {failure.path.split("!")[0] for failure in done.failures}


def is_whole(tables: Path) -> bool:
    names = {table: {file.stem for file in (tables / table).glob("*.parquet")} for table in TABLES}
    return all(names["artefacts"] <= names[table] for table in TABLES)


def test_from_and_to_object_storage_the_rows_are_those_of_one_machine(
    cluster: str, archive: Path, whole: dict[str, list[str]], storage: Storage, tmp_path: Path
) -> None:
    """Fails where a row is lost, there twice or another, where one bad package ends the scan, or where a second scan does it again."""
    storage.put("ray-source", archive, "pool/")
    storage.client().create_bucket(Bucket="ray-tables")
    source, destination = storage.uri("ray-source/pool"), storage.uri("ray-tables/debian")
    done = scan(source, destination, scratch=str(tmp_path), memory=256 << 20, concurrency=2)
    assert names_of(done) == BAD and done.items == 29 and len(done.shards) > 8
    assert done.bytes == sum(path.stat().st_size for path in archive.rglob("*") if path.is_file() and path.name != "README")
    tables = storage.get("ray-tables", tmp_path / "tables", "debian/")
    assert all_rows(tables) == whole
    assert not list(tmp_path.glob("deburr-scan-*")) and not list(tables.glob("incoming/*"))
    again = scan(source, destination)
    assert all(shard.kept for shard in again.shards) and names_of(again) == BAD
    assert [shard.shard for shard in again.shards] == [shard.shard for shard in done.shards]


def test_a_filesystem_and_a_list_of_an_index(cluster: str, archive: Path, storage: Storage, tmp_path: Path) -> None:
    """Fails where a list is not what is scanned, or where a file system that is given is not the one that is used."""
    copy = tmp_path / "debian"
    shutil.copytree(archive, copy)
    listing = deburr.list_archive(archives.index(copy), options=["--suite=stable"])
    storage.put("ray-index", copy)
    storage.client().create_bucket(Bucket="ray-index-tables")
    done = scan(
        "ray-index",
        "ray-index-tables",
        packages=[*listing.packages, deburr.Package("pool/gone.deb", 9)],
        source_filesystem=storage.fsspec(),
        destination_filesystem=storage.pyarrow(),
    )
    assert len(listing.packages) > 5 and names_of(done) == {"pool/gone.deb"}
    deburr.scan([(one, copy / one.path) for one in listing.packages], tmp_path / "one", run=RUN)
    tables = storage.get("ray-index-tables", tmp_path / "tables")
    for table in ["artefacts", "functions", "findings"]:
        assert archives.rows(tables, table) == archives.rows(tmp_path / "one", table)
    assert len(archives.rows(tables, "files")) == len(archives.rows(tmp_path / "one", "files")) + 1


def test_a_worker_that_is_killed_loses_nothing(
    cluster: str, archive: Path, whole: dict[str, list[str]], storage: Storage, tmp_path: Path
) -> None:
    """Fails where the shard of a killed task is not scanned again, or is there in part, or where what it fetched stays."""
    storage.put("ray-killed", archive)
    scratch, tables = tmp_path / "scratch", tmp_path / "tables"
    scratch.mkdir()
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(scan(storage.uri("ray-killed"), str(tables), scratch=str(scratch))))
    thread.start()

    killed: set[int] = set()

    def at_work() -> int | None:
        """A process with a folder of the scratch open, which is a task in the middle of its work. One that dies has no command line."""
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if int(process.name) not in {os.getpid(), *killed} and any(
                    os.readlink(file).startswith(f"{scratch}/deburr-scan-") for file in (process / "fd").iterdir()
                ):
                    return int(process.name) if (process / "cmdline").read_bytes() else None
            except OSError:
                continue
        return None

    # This process validates the options in such a folder, too.
    until(lambda: list(tables.glob("scans/run-*.json")))
    while len(killed) < 2:
        worker = until(at_work)
        assert b"ray::" in Path(f"/proc/{worker}/cmdline").read_bytes()
        os.kill(worker, signal.SIGKILL)
        killed.add(worker)
    assert list(scratch.glob("deburr-scan-*")), "they were killed in the middle"
    thread.join()
    assert names_of(done[0]) == BAD and all_rows(tables) == whole and is_whole(tables)
    # The folder of the last that was killed goes with the next task on that machine.
    scan(storage.uri("ray-killed"), str(tmp_path / "others"), scratch=str(scratch))
    assert not list(scratch.glob("deburr-scan-*"))


def test_a_scan_that_is_killed_goes_on(cluster: str, archive: Path, whole: dict[str, list[str]], tmp_path: Path) -> None:
    """Fails where the second scan does again what is done, or where what the first had begun counts."""
    tables = tmp_path / "tables"
    code = (
        f"import ray, deburr.ray\nray.init(address={cluster!r}, log_to_driver=False)\n"
        f"deburr.ray.scan({str(archive)!r}, {str(tables)!r}, run={RUN}, shard_bytes=20_000, concurrency=1)"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: len(list(tables.glob("artefacts/*.parquet"))) >= 2 or child.poll() is not None)
    assert child.poll() is None, "it was over before it was killed"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert is_whole(tables)
    done = scan(str(archive), str(tables))
    kept = sum(shard.kept for shard in done.shards)
    assert 2 <= kept < len(done.shards), kept
    assert names_of(done) == BAD and all_rows(tables) == whole


def test_two_scans_at_once_are_one(cluster: str, archive: Path, whole: dict[str, list[str]], storage: Storage, tmp_path: Path) -> None:
    """Fails where two scans of one run each leave their rows, or where one breaks what the other writes."""
    storage.client().create_bucket(Bucket="ray-two")
    done: list[Any] = []
    threads = [threading.Thread(target=lambda: done.append(scan(str(archive), storage.uri("ray-two/t")))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 2 and [shard.shard for shard in done[0].shards] == [shard.shard for shard in done[1].shards]
    tables = storage.get("ray-two", tmp_path / "tables", "t/")
    assert all_rows(tables) == whole and is_whole(tables)


def test_a_destination_that_refuses_is_an_error(cluster: str, archive: Path, storage: Storage, tmp_path: Path) -> None:
    """Fails where nothing is written and nobody hears of it, or where only a trace of a worker says why."""
    destination = storage.uri("no-such-bucket/tables")
    with pytest.raises(deburr.Error) as caught:
        scan(str(archive), destination)
    assert caught.value.path == destination and "no-such-bucket" in str(caught.value)
    # One that refuses only the tasks.
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "findings").write_text("")
    with pytest.raises(deburr.Error) as caught:
        scan(str(archive), str(tables))
    assert caught.value.path == str(tables) and "findings" in caught.value.reason
    assert not list(tables.glob("artefacts/*"))


def test_options_and_configurations_reach_the_tasks(cluster: str, archive: Path, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('select = ["llsc-loop"]\n')
    scan(str(archive), str(tmp_path / "tables"), suffixes=[".tgz"], config=tmp_path / "own.toml", shard_bytes=1 << 30)
    assert {row.split("'rule': '")[1].split("'")[0] for row in archives.rows(tmp_path / "tables", "findings")} == {"llsc-loop"}
    with pytest.raises(deburr.Error, match="--nonsense"):
        scan(str(archive), str(tmp_path / "other"), options=["--nonsense"])
    with pytest.raises(deburr.Error, match=r"none\.toml"):
        scan(str(archive), str(tmp_path / "other"), config=tmp_path / "none.toml")
    with pytest.raises(deburr.Error, match="was begun with other packages"):
        scan(str(archive), str(tmp_path / "tables"), suffixes=[".deb"])
    assert scan(str(archive), str(tmp_path / "nothing"), packages=[]).shards == ()


def test_the_recipe_of_the_documentation_runs(cluster: str, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(recipe.of("Ray", archive, tmp_path / "tables"), {})
    count, failures = capsys.readouterr().out.splitlines()[-1].split()
    assert int(count) == 29 and int(failures) >= len(BAD)
    assert is_whole(tmp_path / "tables") and len(archives.rows(tmp_path / "tables", "findings")) > 10
