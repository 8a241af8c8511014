"""What a task does: shards are the list, a shard is there as a whole or not at all, and done twice it is there once."""

from __future__ import annotations

import json
import pickle
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import deburr
import pyarrow
import pytest
from deburr import cluster
from deburr.cluster import Job, Package, Shard, shards_of
from fsspec.implementations.local import LocalFileSystem

import archives
from archives import TABLES, all_rows
from storage import Storage

RUN = 1_700_000_000
SMALL = {"shard_bytes": 40_000}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good packages, and two that are cut off."""
    folder = archives.make(tmp_path_factory.mktemp("archive"))
    for name in ["pool/1/p1.tgz", "pool/0/p0_1_arm64.deb"]:
        (folder / name.replace("p0", "cut0").replace("p1", "cut1")).write_bytes((folder / name).read_bytes()[:2000])
    return folder


@pytest.fixture(scope="module")
def whole(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The rows of a scan of one machine."""
    tables = tmp_path_factory.mktemp("whole")
    assert len({failure.path.split("!")[0] for failure in deburr.scan(archive, tables, run=RUN).failures}) == 2
    return all_rows(tables)


def of(job: Job, **sizes: int) -> list[Shard]:
    return job.begin(job.list_folder(), **(sizes or SMALL))


def test_shards_are_the_list_in_any_order() -> None:
    """Fails where a package is in no shard or in two, where the order of a list changes a name, or where shards are of any size."""
    generator = random.Random(3)
    packages = [Package(f"pool/{number:04}", generator.randrange(1, 200_000)) for number in range(2000)]
    shards = shards_of(packages, "identity", shard_bytes=1_000_000, shard_items=40)
    assert [package for shard in shards for package in shard.packages] == packages
    for shard in shards[:-1]:
        size = sum(package.size for package in shard.packages)
        assert size >= 1_000_000 or len(shard.packages) == 40
        assert size < 1_200_000 and len(shard.packages) <= 40
    shuffled = generator.sample(packages, len(packages))
    assert shards_of(shuffled, "identity", shard_bytes=1_000_000, shard_items=40) == shards
    names = {shard.name for shard in shards}
    assert len(names) == len(shards) and all(len(name) == 32 for name in names)
    assert names.isdisjoint(shard.name for shard in shards_of(packages, "other", shard_bytes=1_000_000, shard_items=40))
    packages[7] = replace(packages[7], size=packages[7].size + 1)
    assert len(names - {shard.name for shard in shards_of(packages, "identity", shard_bytes=1_000_000, shard_items=40)}) == 1
    assert shards_of([], "identity", shard_bytes=1, shard_items=1) == []


@pytest.mark.parametrize("kind", ["local", "uri", "pyarrow", "fsspec"])
def test_shards_together_are_the_scan_of_one_machine(
    kind: str, archive: Path, whole: dict[str, list[str]], storage: Storage, tmp_path: Path
) -> None:
    """Fails where a row is lost, there twice or another, on any kind of file system; or where anything is left lying."""
    job = Job(str(archive), str(tmp_path / "tables"), RUN)
    if kind != "local":
        storage.put(f"from-{kind}", archive, "debian/")
        storage.client().create_bucket(Bucket=f"to-{kind}")
        job = {
            "uri": Job(storage.uri(f"from-{kind}/debian"), storage.uri(f"to-{kind}/tables"), RUN),
            "pyarrow": Job(f"from-{kind}/debian", f"to-{kind}/tables/", RUN, (), "", storage.pyarrow(), storage.pyarrow()),
            "fsspec": Job(f"from-{kind}/debian/", f"to-{kind}/tables", RUN, (), "", storage.fsspec(), storage.fsspec()),
        }[kind]
    job = pickle.loads(pickle.dumps(replace(job, scratch=str(tmp_path))))
    shards = of(job)
    assert len(shards) > 3
    summaries = [job.scan(shard) for shard in reversed(shards)]
    again = [job.scan(shard) for shard in shards]
    assert sum(summary.items for summary in summaries) == 17 and not any(summary.kept for summary in summaries)
    assert {failure.path.split("!")[0] for summary in summaries for failure in summary.failures} == {
        "pool/1/cut1.tgz",
        "pool/0/cut0_1_arm64.deb",
    }
    assert all(summary.kept for summary in again)
    assert [replace(summary, kept=False) for summary in again] == list(reversed(summaries))
    tables = tmp_path / "tables" if kind == "local" else storage.get(f"to-{kind}", tmp_path / "tables", "tables/")
    assert all_rows(tables) == whole
    for table in TABLES:
        assert sorted(file.stem for file in (tables / table).iterdir()) == sorted(shard.name for shard in shards)
    assert not list(tables.glob("incoming/*")) and not list(tmp_path.glob("deburr-scan-*"))


def test_a_task_gives_the_same_bytes_again(archive: Path, tmp_path: Path) -> None:
    """Fails where a task that is tried again would write another shard."""
    contents = []
    for name in ["one", "other"]:
        job = Job(str(archive), str(tmp_path / name), RUN)
        for shard in of(job):
            job.scan(shard)
        files = sorted((tmp_path / name).glob("*/*.parquet"))
        contents.append([(str(file.relative_to(tmp_path / name)), file.read_bytes()) for file in files])
    assert contents[0] == contents[1] != []


def test_batches_of_arrow_are_shards_and_summaries(archive: Path, whole: dict[str, list[str]], tmp_path: Path) -> None:
    job = Job(str(archive), str(tmp_path / "tables"), RUN)
    table = cluster.table_of(of(job))
    assert table.schema == cluster.SHARDS
    batches = list(job.scan_batches(table.to_batches(max_chunksize=2)))
    assert len(batches) > 1 and all(batch.schema == cluster.SUMMARIES for batch in batches)
    done = pyarrow.Table.from_batches(batches)
    assert done["shard"] == table["shard"]
    kept = job.scan_table(table)
    assert kept.drop_columns("kept") == done.drop_columns("kept") and all(kept["kept"].to_pylist())
    assert all_rows(tmp_path / "tables") == whole


def test_what_is_not_what_the_list_says_is_a_failure_and_tried_again(
    archive: Path, storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where an object that has grown fills the disk, where a missing one ends the task, or where its failure stays for ever."""
    monkeypatch.setattr(cluster, "_SECONDS_BETWEEN", 0.01)
    storage.put("listed", archive)
    job = Job(storage.uri("listed"), str(tmp_path / "tables"), RUN, scratch=str(tmp_path))
    (good, *others) = [package for package in job.list_folder() if "cut" not in package.path]
    larger, shorter = replace(others[0], size=others[0].size - 1), replace(others[1], size=others[1].size + 1)
    gone, wrong = Package("pool/gone.deb", 5), replace(others[2], sha256="0" * 64)
    (shard,) = job.begin([good, larger, shorter, gone, wrong])
    summary = job.scan(shard)
    reasons = {failure.path: failure.reason for failure in summary.failures}
    assert "more than the" in reasons[larger.path] and f"where {shorter.size} are listed" in reasons[shorter.path]
    assert reasons[gone.path] == "no such file or directory" and "SHA-256" in reasons[wrong.path] and len(reasons) == 4
    assert summary.items == 5 and len(archives.rows(tmp_path / "tables", "artefacts")) == 1
    storage.client().put_object(Bucket="listed", Key=gone.path, Body=b"words")
    (shard_of_right,) = job.begin([good, larger, shorter, gone, wrong])
    assert shard_of_right == shard
    second = job.scan(shard)
    assert not second.kept and "no ELF file" in {failure.path: failure.reason for failure in second.failures}[gone.path]
    assert len(list((tmp_path / "tables/files").glob("*.parquet"))) == 1, "in the place of the first"


class Breaking(LocalFileSystem):  # type: ignore[misc]
    """Breaks off the first reads of each file."""

    cachable = False

    def __init__(self, breaks: int) -> None:
        super().__init__()
        self.breaks: dict[str, int] = {}
        self.most = breaks

    def _open(self, path: str, mode: str = "rb", **words: Any) -> Any:
        file = super()._open(path, mode, **words)
        self.breaks[path] = self.breaks.get(path, 0) + 1
        if mode == "rb" and self.breaks[path] <= self.most:

            def read(*_: Any) -> bytes:
                raise RuntimeError("the connection was reset")

            file.read = read
        return file


def test_a_connection_that_breaks_is_tried_again(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails where one broken connection leaves a package out, or where what never comes is waited for without an end."""
    monkeypatch.setattr(cluster, "_SECONDS_BETWEEN", 0.001)
    plain = Job(str(archive), str(tmp_path / "plain"), RUN)
    (shard,) = plain.begin(plain.list_folder())
    plain.scan(shard)
    for breaks, is_read in [(3, True), (4, False)]:
        job = replace(plain, destination=str(tmp_path / str(breaks)), source_filesystem=Breaking(breaks))
        summary = job.scan(shard)
        reasons = {failure.reason for failure in summary.failures}
        assert (all_rows(tmp_path / str(breaks)) == all_rows(tmp_path / "plain")) == is_read
        assert any("the connection was reset" in reason for reason in reasons) != is_read
        assert is_read or len(summary.failures) == summary.items


def test_a_run_has_one_list(archive: Path, tmp_path: Path) -> None:
    """Fails where packages of a run get into its tables twice, under the shards of two lists."""
    job = Job(str(archive), str(tmp_path / "tables"), RUN)
    packages = job.list_folder()
    shards = job.begin(packages, **SMALL)
    assert job.begin(reversed(packages), **SMALL) == shards
    for other, listed in [
        (job, packages[1:]),
        (job, [replace(packages[0], size=1), *packages[1:]]),
        (replace(job, options=("--preview",)), packages),
        (replace(job, config='select = ["llsc-loop"]\n'), packages),
    ]:
        with pytest.raises(deburr.Error, match="was begun with other packages, options"):
            other.begin(listed, **SMALL)
    with pytest.raises(deburr.Error, match="sizes of shards"):
        job.begin(packages)
    assert {shard.name for shard in replace(job, run=RUN + 1).begin(packages, **SMALL)}.isdisjoint(shard.name for shard in shards)


def test_lists_and_options_that_mean_nothing_are_errors_before_any_task(archive: Path, tmp_path: Path) -> None:
    job = Job(str(archive), str(tmp_path / "tables"), RUN)
    for path in ["../a.deb", "a/../../b.deb", "/etc/a.deb", "https://other/a.deb", "", "a//b.deb", "a\0b.deb"]:
        with pytest.raises(deburr.Error, match="no path below the source"):
            job.begin([Package(path, 1)])
    with pytest.raises(deburr.Error, match="listed twice"):
        job.begin([Package("a.deb", 1), Package("a.deb", 2)])
    for options in [("--nonsense",), ("--shard=1/2",), ("--tables=x",), ("--config=x",), ("--cache=x",), ("--run=2",), ("--threads=9",)]:
        with pytest.raises(deburr.Error):
            replace(job, options=options).begin([])
    with pytest.raises(deburr.Error):
        replace(job, config="nonsense = [").begin([])
    assert not (tmp_path / "tables").exists()


def test_a_configuration_counts_and_one_near_the_task_does_not(archive: Path, tmp_path: Path) -> None:
    """Fails where tasks on machines with other files find other things."""
    (tmp_path / "deburr.toml").write_text("this is no configuration")
    plain = Job(str(archive), str(tmp_path / "plain"), RUN)
    configured = replace(plain, destination=str(tmp_path / "configured"), config='select = ["llsc-loop"]\n')
    for job in [plain, configured]:
        for shard in of(job):
            job.scan(shard)
    rules = [{row.split("'rule': '")[1].split("'")[0] for row in archives.rows(tmp_path / name, "findings")} for name in ["plain", "configured"]]
    assert len(rules[0]) > 2 and rules[1] == {"llsc-loop"}


def test_a_destination_that_refuses_is_an_error_with_its_place(archive: Path, storage: Storage, tmp_path: Path) -> None:
    """Fails where nothing is written and nobody hears of it, or where the reason is a trace of another program."""
    (tmp_path / "file").write_text("")
    for destination in [str(tmp_path / "file" / "tables"), storage.uri("no-such-bucket/tables")]:
        with pytest.raises(deburr.Error) as caught:
            of(Job(str(archive), destination, RUN))
        assert caught.value.path == destination and caught.value.reason
    for source in [str(tmp_path / "none"), storage.uri("no-such-bucket/packages")]:
        with pytest.raises(deburr.Error) as caught:
            Job(source, str(tmp_path / "tables"), RUN).list_folder()
        assert source in str(caught.value) and len(caught.value.reason) > 10
    with pytest.raises(deburr.Error, match="nothing://"):
        Job("nothing://place", str(tmp_path / "tables"), RUN).list_folder()
    # One that refuses only now: the task says so, and its shard is not there.
    tables = tmp_path / "tables"
    job = Job(str(archive), str(tables), RUN)
    (shard, *_) = of(job)
    (tables / "findings").write_text("")
    with pytest.raises(deburr.Error) as caught:
        job.scan(shard)
    assert caught.value.path == str(tables) and not list(tables.glob("artefacts/*")) and not list(tables.glob("incoming/*"))
    (tables / "findings").unlink()
    assert not job.scan(shard).kept


def test_a_full_disk_is_an_error_and_no_failure_of_a_package(archive: Path, storage: Storage, tmp_path: Path) -> None:
    """Fails where packages that this machine has no room for are written as broken ones."""
    storage.put("full", archive)
    job = Job(storage.uri("full"), str(tmp_path / "tables"), RUN)
    (shard,) = job.begin(job.list_folder())
    code = """
import pickle, resource, sys
job, shard = pickle.load(sys.stdin.buffer)
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
job.scan(shard)
"""
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps((job, shard)), capture_output=True, check=False)
    last = done.stderr.decode().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("deburr._error.Error: ") and "File too large" in last
    assert not list((tmp_path / "tables").glob("*/*.parquet"))
    with pytest.raises(deburr.Error, match="no-such-folder"):
        replace(job, scratch=str(tmp_path / "no-such-folder")).scan(shard)
    assert not job.scan(shard).kept


def test_a_broken_note_is_an_error(archive: Path, tmp_path: Path) -> None:
    job = Job(str(archive), str(tmp_path), RUN)
    (shard, *_) = of(job)
    job.scan(shard)
    note = tmp_path / "scans" / f"{shard.name}.json"
    whole = json.loads(note.read_text())
    for text in ["{", "[]", "{}", "null", "\xff", *(json.dumps({**whole, **other}) for other in [{"failures": 1}, {"more": 1}])]:
        note.write_text(text, encoding="latin-1")
        with pytest.raises(deburr.Error, match="no note of a s"):
            job.scan(shard)


def killed(archive: Path, tables: Path, scratch: Path, seconds: float) -> None:
    """Scans in another process, which ends at that moment."""
    code = (
        f"from deburr.cluster import Job\njob = Job({str(archive)!r}, {str(tables)!r}, {RUN}, scratch={str(scratch)!r})\n"
        "for shard in job.begin(job.list_folder(), shard_bytes=40_000): job.scan(shard)"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 60
    while not list(tables.glob("scans/run-*.json")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.wait()


def test_whenever_a_task_is_killed_a_shard_is_whole_or_not_there(archive: Path, whole: dict[str, list[str]], tmp_path: Path) -> None:
    """Fails where a part of a shard has its name, where what was begun counts, or where what was fetched stays on the disk."""
    for moment in range(8):
        tables = tmp_path / str(moment)
        killed(archive, tables, tmp_path, moment * 0.12)
        there = {file.stem for file in tables.glob("artefacts/*.parquet")}
        for table in TABLES:
            names = {file.stem for file in (tables / table).glob("*.parquet")}
            assert there <= names, (moment, table)
            for name in names:
                pyarrow.parquet.read_table(tables / table / f"{name}.parquet")
        job = Job(str(archive), str(tables), RUN, scratch=str(tmp_path))
        summaries = [job.scan(shard) for shard in of(job)]
        assert {summary.shard for summary in summaries if summary.kept} <= there
        assert all_rows(tables) == whole, moment
        assert not list(tmp_path.glob("deburr-scan-*")), "what the killed one had fetched"


def test_only_what_a_dead_process_left_is_swept(tmp_path: Path) -> None:
    """Fails where a task removes what another one reads."""
    with cluster._scratch(str(tmp_path)) as living:
        dead = tmp_path / "deburr-scan-dead"
        dead.mkdir()
        (dead / "0").write_text("a package")
        (tmp_path / "other").mkdir()
        (tmp_path / "deburr-scan-link").symlink_to(tmp_path / "other")
        (tmp_path / "deburr-scan-file").write_text("")
        (living / "0").write_text("a package")
        with cluster._scratch(str(tmp_path)):
            assert (living / "0").exists() and not dead.exists()
        assert (living / "0").exists() and (tmp_path / "other").exists() and (tmp_path / "deburr-scan-file").exists()
    assert not living.exists()


def test_contents_decide_what_a_folder_lists_and_names_what_a_bucket_does(archive: Path, storage: Storage, tmp_path: Path) -> None:
    """Fails where a folder's list is not what one machine scans: a file by two links, a binary without a suffix, an endless link."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in [("a.deb", archive / "pool/0/p0_1_arm64.deb"), ("program", Path(sys.executable).resolve()), ("c.deb.asc", None)]:
        (folder / name).write_bytes(content.read_bytes() if content else b"no package")
    storage.put("names", folder)
    (folder / "link").symlink_to("a.deb")
    (folder / "endless").symlink_to(".")
    job = Job(str(folder), str(tmp_path / "tables"), RUN)
    assert [package.path for package in job.list_folder()] == ["a.deb", "program"]
    assert [package.path for package in job.list_folder([".deb"])] == ["a.deb"]
    bucket = Job(storage.uri("names"), str(tmp_path / "tables"), RUN)
    assert [package.path for package in bucket.list_folder()] == ["a.deb"]
    assert [package.size for package in bucket.list_folder([".asc"])] == [10]
    assert len(bucket.list_folder([""])) == 3


@pytest.mark.parametrize("table", TABLES)
def test_a_shard_whose_files_are_not_those_of_its_note_is_scanned_again(table: str, archive: Path, tmp_path: Path) -> None:
    """Fails where a note alone counts for a shard: its files were removed, or are of a task that could read less."""
    job = Job(str(archive), str(tmp_path), RUN)
    (shard, *_) = of(job)
    job.scan(shard)
    file = tmp_path / table / f"{shard.name}.parquet"
    content = file.read_bytes()
    file.unlink()
    assert not job.scan(shard).kept and job.scan(shard).kept
    file.write_bytes(content[:-1])
    assert not job.scan(shard).kept and job.scan(shard).kept and file.read_bytes() == content


def test_of_two_tasks_at_once_the_one_that_reads_less_is_not_the_last(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where files of a task that could not read a package stay under the note of one that could."""
    job = Job(str(archive), str(tmp_path / "tables"), RUN)
    (shard,) = job.begin(job.list_folder())
    poor = replace(job, source_filesystem=Breaking(9))
    monkeypatch.setattr(cluster, "_SECONDS_BETWEEN", 0.001)
    publish, write = cluster._publish, cluster._write

    def between(*words: Any) -> None:
        """All of the poor one happens between the files of the good one and its note."""
        monkeypatch.setattr(cluster, "_write", write)
        assert poor.scan(shard).failures
        write(*words)

    def published(*words: Any) -> None:
        publish(*words)
        monkeypatch.setattr(cluster, "_publish", publish)
        monkeypatch.setattr(cluster, "_write", between)

    monkeypatch.setattr(cluster, "_publish", published)
    assert not job.scan(shard).kept
    assert not archives.rows(tmp_path / "tables", "artefacts"), "those of the poor one"
    assert not job.scan(shard).kept and archives.rows(tmp_path / "tables", "artefacts")


def test_without_pyarrow_the_error_says_what_is_missing() -> None:
    for module, missing, extra in [("cluster", "pyarrow", "cluster"), ("ray", "ray", "ray")]:
        code = f"import sys\nsys.modules[{missing!r}] = None\nimport deburr\nimport deburr.{module}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and f"pip install 'deburr[{extra}]'" in done.stderr.splitlines()[-1], done.stderr


def test_a_summary_is_plain_json(archive: Path, tmp_path: Path) -> None:
    """Fails where the note at the destination is not what the summary says."""
    job = Job(str(archive), str(tmp_path), RUN)
    (shard, *_) = of(job)
    summary = job.scan(shard)
    note: dict[str, Any] = json.loads((tmp_path / "scans" / f"{shard.name}.json").read_text())
    assert (note["items"], note["bytes"], note["unread"]) == (summary.items, summary.bytes, 0)
