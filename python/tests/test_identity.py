"""The module says what the command says, byte for byte."""

from __future__ import annotations

import dataclasses
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import deburr
import pytest

from conftest import FIXTURES, command, document


def test_single_files_have_the_documents_of_the_command(programs: list[Path]) -> None:
    for path in programs:
        assert deburr.check(path).to_json() == document(path), path


def test_all_files_together_have_one_document(programs: list[Path]) -> None:
    report = deburr.check(programs, threads=2)
    assert report.to_json() == document("--threads", "2", *programs)
    assert [file.path for file in report.files] == sorted(map(str, programs))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": ["armv8.1-a", "x86-64-v2"]}, ["--target", "armv8.1-a", "--target", "x86-64-v2"]),
        ({"baseline": "x86-64"}, ["--baseline", "x86-64"]),
        ({"select": "llsc-loop"}, ["--select", "llsc-loop"]),
        ({"ignore": ["llsc-loop", "above-baseline"], "preview": True}, ["--ignore", "llsc-loop,above-baseline", "--preview"]),
        ({"strict": True, "options": ["--closure"]}, ["--strict", "--closure"]),
    ],
)
def test_options_are_those_of_the_command(options: dict[str, Any], words: list[str]) -> None:
    report = deburr.check(FIXTURES, **options)
    assert report.to_json() == document(*words, FIXTURES)
    assert report.status == command("check", *words, FIXTURES).returncode
    # Not the document that it has without options.
    assert report.to_json() != deburr.check(FIXTURES).to_json()


def test_packages_have_the_documents_of_the_command(programs: list[Path], tmp_path: Path) -> None:
    wheel, image = tmp_path / "some-1.0-py3-none-manylinux_2_17_x86_64.whl", tmp_path / "some.tar.gz"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as package:
        for path in programs[:4]:
            package.write(path, f"some/{path.name}")
        package.writestr("some-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-manylinux_2_17_x86_64\n")
    with tarfile.open(image, "w:gz") as package:
        for path in programs[4:8]:
            package.add(path, f"usr/bin/{path.name}")
    for package_path in (wheel, image):
        report = deburr.check(package_path, baseline="claim")
        assert report.to_json() == document("--baseline", "claim", package_path)
        assert len(report.files) == 4
        # A tarball promises nothing, which the command says and what is in it was still checked.
        assert report.status == command("check", "--baseline", "claim", package_path).returncode
        assert bool(report.skipped) == (package_path == image)
        assert deburr.check(package_path.read_bytes()).to_json() == document("-", stdin=package_path.read_bytes())


def test_bytes_have_the_document_of_the_standard_input(programs: list[Path]) -> None:
    for path in programs[:5]:
        content = path.read_bytes()
        assert deburr.check(content).to_json() == document("-", stdin=content)
        assert deburr.check(bytearray(content)).to_json() == deburr.check(memoryview(content)).to_json()


def test_named_bytes_are_files_of_that_name(programs: list[Path]) -> None:
    names = [(f"lib/{number}.so", path.read_bytes()) for number, path in enumerate(programs[:3])]
    report = deburr.check([names[2], programs[3], names[0], names[1]])
    assert {file.path for file in report.files} == {name for name, _ in names} | {str(programs[3])}
    for file, (_, content) in zip(report.files[1:], names):
        (alone,) = deburr.check(content).files
        assert dataclasses.replace(file, path="-") == alone


def test_a_truncated_file_is_to_the_module_what_it_is_to_the_command(tmp_path: Path, programs: list[Path]) -> None:
    whole = programs[0].read_bytes()
    refused = 0
    for length in [0, 4, 16, 63, 64, 100, 1000, len(whole) // 3, len(whole) // 2, len(whole) - 1]:
        path = tmp_path / "cut"
        path.write_bytes(whole[:length])
        try:
            report: deburr.Report | None = deburr.check(path)
        except deburr.Error as error:
            refused += 1
            report = error.report
            assert error.path == str(path)
            assert error.reason in {skip["reason"] for skip in json.loads(document(path))["skipped"]}
        assert report is not None
        assert report.to_json() == document(path)
        assert report.status == command("check", path).returncode
    assert 0 < refused


def plain(value: Any) -> Any:
    """A typed object as the JSON that it came from; what is absent is None or False in the object."""
    if dataclasses.is_dataclass(value):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        absent = {field.name: field.default for field in dataclasses.fields(value) if field.default is not dataclasses.MISSING}
        return {name.rstrip("_"): it for name, it in fields.items() if name not in absent or it != absent[name]}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value


def test_typed_objects_have_all_that_the_document_has(programs: list[Path]) -> None:
    report = deburr.check([FIXTURES, *programs], preview=True, options=["--closure", "--statistics"])
    assert len(report.files) > 100
    assert plain(report.document) == json.loads(report.to_json())


def test_a_configuration_counts_as_with_the_command(tmp_path: Path, programs: list[Path]) -> None:
    (tmp_path / "deburr.toml").write_text('baseline = ["x86-64"]\nstrict = true\n')
    assert deburr.check(programs[:5]).to_json() == document(*programs[:5])
    other = tmp_path / "other.toml"
    other.write_text('select = ["llsc-loop"]\n')
    assert deburr.check(programs[:5], config=other).to_json() == document("--config", other, *programs[:5])


def test_nothing_is_printed_and_the_standard_input_is_not_read(programs: list[Path]) -> None:
    code = f"""
import deburr, sys
deburr.check({str(programs[0])!r})
try:
    deburr.check(b'no program')
except deburr.Error as error:
    print(error, sys.stdin.read())
"""
    done = subprocess.run([sys.executable, "-c", code], input=b"unread", capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"-: no ELF file unread\n", b"")


def test_a_damaged_package_gives_what_was_read_of_it(programs: list[Path], tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar"
    with tarfile.open(whole, "w") as package:
        for path in programs[:3]:
            package.add(path, path.name)
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole.read_bytes()[: -programs[2].stat().st_size // 2 - 10240])
    report = deburr.check(cut)
    assert report.to_json() == document(cut)
    assert len(report.files) == 2 and report.status == 2
    assert [skip.path for skip in report.skipped] == [f"{cut}!{programs[2].name}"]


def test_an_archive_of_one_run_is_read_from_memory(programs: list[Path]) -> None:
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as package:
        package.add(programs[0], "a")
    (file,) = deburr.check(("x.tar", memory.getvalue())).files
    assert file.path == "x.tar!a"
