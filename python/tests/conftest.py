"""What the tests share: the command of the same source, and files of this machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from storage import Storage

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "crates/deburr-core/fixtures"
COMMAND = Path(os.environ.get("DEBURR_COMMAND", REPOSITORY / "target/release/deburr"))


def command(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs the command."""
    return subprocess.run([COMMAND, *map(str, words)], input=stdin, capture_output=True, check=False)


def document(*words: object, stdin: bytes = b"") -> bytes:
    """The JSON document that the command writes."""
    done = command("check", "--format", "json", *words, stdin=stdin)
    assert done.stdout.startswith(b'{"schema_version"'), done.stderr
    return done.stdout


def is_elf(path: Path) -> bool:
    try:
        return path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF"
    except OSError:
        return False


@pytest.fixture(scope="session")
def programs() -> list[Path]:
    """Programs and libraries of this machine, of 30 kB to 2 MB."""
    places = [Path("/usr/bin"), *Path("/usr/lib").glob("*-linux-gnu")]
    found = [path for place in places for path in sorted(place.iterdir()) if is_elf(path)]
    chosen = [path for path in found if 30_000 < path.stat().st_size < 2_000_000]
    step = max(1, len(chosen) // 24)
    assert len(chosen[::step]) >= 20
    return chosen[::step][:26]


@pytest.fixture(scope="session")
def storage() -> Iterator[Storage]:
    """Object storage on this machine."""
    from storage import serve

    with serve() as served:
        yield served


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No deburr.toml is above the current directory."""
    monkeypatch.chdir(tmp_path)
