"""The recipe for Spark, by a Spark of this machine: scripts/test-python --spark runs it, since pyspark is 460 MB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deburr

import archives
import recipe
from archives import TABLES, all_rows

RUN = 1_700_000_000


def test_spark_writes_the_rows_of_one_machine_and_goes_on(tmp_path: Path) -> None:
    """Fails where the recipe of the documentation does not run, or where a row is lost, there twice or another."""
    archive, tables = archives.make(tmp_path / "archive", packages=24), tmp_path / "tables"
    (archive / "pool/1/cut.tgz").write_bytes((archive / "pool/1/p1.tgz").read_bytes()[:1500])
    whole = deburr.scan(archive, tmp_path / "whole", run=RUN)
    code = recipe.of("Spark", archive, tables)
    small = code.replace("job.list_folder())", "job.list_folder(), shard_bytes=20_000)")
    assert small != code
    for kept in [False, True]:
        program = f"{small}\nassert len(shards) > 8 and sorted(s.name for s in shards) == sorted(one.shard for one in summaries)\n"
        program += f"assert [one.kept for one in summaries] == [{kept}] * len(shards)\n"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        last = done.stdout.splitlines()[-1]
        assert last.startswith(f"{whole.items} [") and "pool/1/cut.tgz" in last
        assert all_rows(tables) == all_rows(tmp_path / "whole")
    files = {table: sorted(file.stem for file in (tables / table).iterdir()) for table in TABLES}
    assert len({tuple(names) for names in files.values()}) == 1
