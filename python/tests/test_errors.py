"""What cannot be checked is an error with its path and the reason, and never a crash."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import deburr
import pytest

from conftest import FIXTURES, document


def failure(*inputs: Any, **options: Any) -> deburr.Error:
    with pytest.raises(deburr.Error) as caught:
        deburr.check(*inputs, **options)
    return caught.value


def test_garbage_is_refused() -> None:
    generator = random.Random(1)
    for length in [1, 4, 64, 5000]:
        error = failure(generator.randbytes(length))
        assert (error.path, error.reason) == ("-", "no ELF file")
    assert failure(b"").reason == "an empty file"
    assert str(failure(("name", b""))) == "name: an empty file"


def test_mutated_programs_end_as_a_report_or_an_error() -> None:
    generator = random.Random(2)
    whole = max(FIXTURES.glob("*/*.o"), key=lambda path: path.stat().st_size).read_bytes()
    ends = set()
    for _ in range(200):
        content = bytearray(whole)
        for _ in range(generator.randrange(1, 20)):
            content[generator.randrange(min(len(content), 2000))] = generator.randrange(256)
        try:
            ends.add(len(deburr.check(bytes(content)).files))
        except deburr.Error as error:
            assert error.path == "-" and error.report is not None
            ends.add(-1)
    assert 1 in ends


def test_a_missing_file_is_an_error() -> None:
    error = failure("/nonexistent/file")
    assert error.path == "/nonexistent/file" and error.reason == "no such file or directory"


def test_a_path_with_a_zero_byte_is_an_error() -> None:
    # What acts in a name is spelt out, as in every output.
    assert failure("a\0b").path == r"a\x00b"
    assert failure("").reason == "an empty path"


def test_the_standard_input_is_no_path() -> None:
    assert "standard input" in failure("-").reason
    assert "a path among the options" in failure(FIXTURES, options=["-"]).reason


def test_a_path_is_never_an_option() -> None:
    for path in ["--help", "--output=x", "--"]:
        assert failure(path).path == path


def test_a_directory_without_programs_is_clean_as_with_the_command(tmp_path: Path) -> None:
    report = deburr.check(tmp_path)
    assert report.files == () and report.status == 0
    assert report.to_json() == document(tmp_path)


def test_what_could_be_checked_is_in_the_error(tmp_path: Path) -> None:
    good = next(FIXTURES.glob("*/hit-*.o"))
    error = failure([good, tmp_path / "missing"])
    assert error.report is not None
    assert [file.path for file in error.report.files] == [str(good)]
    assert error.path == str(tmp_path / "missing")


def test_a_damaged_file_of_a_directory_is_skipped_and_nothing_is_lost(tmp_path: Path) -> None:
    good = next(FIXTURES.glob("*/hit-*.o")).read_bytes()
    (tmp_path / "good.o").write_bytes(good)
    (tmp_path / "cut.o").write_bytes(good[:70])
    report = deburr.check(tmp_path)
    assert [Path(file.path).name for file in report.files] == ["good.o"]
    assert [Path(skip.path).name for skip in report.skipped] == ["cut.o"]
    assert report.status == 2


def test_options_that_mean_nothing_are_errors() -> None:
    assert "no-such-cpu" in failure(FIXTURES, target="no-such-cpu").reason
    assert "no rule is called `llsc`" in failure(FIXTURES, select="llsc").reason
    assert "--nonsense" in failure(FIXTURES, options=["--nonsense"]).reason
    assert failure(FIXTURES, threads=0).path is None
    assert failure([]).reason.startswith("nothing to check")


@pytest.mark.parametrize("word", ["--output=x", "--format=json=x", "--format=text", "--format=parquet=x", "--pretty", "--add-allowances"])
def test_nothing_is_written(word: str, tmp_path: Path) -> None:
    assert "writes no files" in failure(FIXTURES, options=[word]).reason
    assert list(tmp_path.iterdir()) == []


def test_the_objects_are_those_of_version_2() -> None:
    assert "version 2" in failure(FIXTURES, options=["--schema-version=1"]).reason
    found = [finding for file in deburr.check(FIXTURES).files for finding in file.findings]
    assert found and all(finding.count == len(finding.places) for finding in found)


def test_two_inputs_of_one_name_are_refused() -> None:
    assert failure([b"a", b"b"]).reason == "-: bytes of one name are given twice"
    assert failure([("a", b"a"), "/nonexistent", ("a", b"a")]).reason.startswith("a: bytes of one name")
    assert "the name of bytes" in failure([str(FIXTURES), (str(FIXTURES), b"a")]).reason


def test_a_named_file_that_is_no_program_is_skipped_among_others_and_refused_alone(tmp_path: Path) -> None:
    good = next(FIXTURES.glob("*/hit-*.o"))
    text = tmp_path / "text"
    text.write_text("no program")
    assert failure(text).path == str(text)
    report = deburr.check([text, good])
    assert [skip.path for skip in report.skipped] == [str(text)] and report.status < 2
    assert failure([b"no program", good]).path == "-"


def test_what_is_no_path_and_no_bytes_is_a_type_error() -> None:
    for wrong in [1, None, [1], [("name", "text")], [("name", 5)], [("name", [1])], 1.5]:
        with pytest.raises(TypeError):
            deburr.check(wrong)  # type: ignore[arg-type]


def test_a_handler_of_bus_errors_stays_the_program_s(tmp_path: Path) -> None:
    code = f"""
import deburr, faulthandler, mmap, os
faulthandler.enable()
deburr.check({str(FIXTURES)!r})
with open("file", "wb+") as file:
    file.write(bytes(8192)); file.flush()
    mapping = mmap.mmap(file.fileno(), 8192)
    os.ftruncate(file.fileno(), 0)
    mapping[5000]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=tmp_path)
    assert b"Fatal Python error: Bus error" in done.stderr
    assert done.returncode == -7
