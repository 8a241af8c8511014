"""An archive of packages, as tests scan it: made of the fixtures' objects, without any tool."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pyarrow
import pyarrow.parquet

from conftest import FIXTURES

TABLES = ["artefacts", "files", "functions", "findings"]


def tar(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def wheel(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def deb(package: str, members: list[tuple[str, bytes]]) -> bytes:
    """A Debian package: ar(5) with a version, control and data."""
    control = f"Package: {package}\nVersion: 1\nArchitecture: arm64\nMaintainer: nobody\nDescription: none\n"
    parts = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", tar([("./control", control.encode())])),
        ("data.tar.gz", tar([(f"./usr/lib/{name}", content) for name, content in members])),
    ]
    out = b"!<arch>\n"
    for name, content in parts:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


def make(folder: Path, packages: int = 12) -> Path:
    """Packages of three kinds, files of their own, and what is none."""
    objects = [(f"{path.parent.name}-{path.name}", path.read_bytes()) for path in sorted(FIXTURES.glob("*/*.o"))]
    for number in range(packages):
        some = objects[number::packages]
        name, content = [
            (f"pool/{number % 3}/p{number}_1_arm64.deb", deb(f"p{number}", some)),
            (f"pool/{number % 3}/p{number}.tgz", tar(some)),
            (f"pool/{number % 3}/p{number}-1-py3-none-manylinux_2_17_aarch64.whl", wheel(some)),
        ][number % 3]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, content in objects[:3]:
        (folder / f"lib{name}.so").write_bytes(content)
    (folder / "README").write_text("no package")
    return folder


def index(folder: Path) -> Path:
    """The index of a Debian archive of the packages below, of which one is not in it."""
    packages = sorted(path for path in folder.glob("pool/*/*.deb"))[1:]
    text = ""
    for path in packages:
        content = path.read_bytes()
        name = path.name.split("_")[0]
        text += f"Package: {name}\nVersion: 1\nArchitecture: arm64\nFilename: {path.relative_to(folder)}\n"
        text += f"Size: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n\n"
    place = folder / "dists/stable/main/binary-arm64/Packages"
    place.parent.mkdir(parents=True)
    place.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    release = f"Suite: stable\nComponents: main\nArchitectures: arm64\nSHA256:\n {digest} {len(text)} main/binary-arm64/Packages\n"
    (folder / "dists/stable/Release").write_text(release)
    return folder


def rows(tables: Path, table: str) -> list[str]:
    """All rows of a table as text with all columns, sorted."""
    files = sorted((tables / table).glob("*.parquet"))
    read = pyarrow.concat_tables([pyarrow.parquet.read_table(file) for file in files])
    return sorted(map(repr, read.to_pylist()))


def all_rows(tables: Path) -> dict[str, list[str]]:
    return {table: rows(tables, table) for table in TABLES}
