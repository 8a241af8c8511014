"""Types, versions, notebooks: what surrounds a check."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import deburr
import nbformat
import pytest
from nbclient import NotebookClient

from conftest import FIXTURES, REPOSITORY, command


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=False)


def test_typed_objects_agree_with_the_schemas() -> None:
    done = run(REPOSITORY / "python/generate", "--check")
    assert done.returncode == 0, done.stderr


def test_a_sample_is_typed(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    text = (REPOSITORY / "python/tests/sample.py").read_text()
    sample.write_text(text)
    done = run("-m", "mypy", "--strict", sample)
    assert done.returncode == 0, done.stdout
    sample.write_text(text + '\nimport deburr\ndeburr.check("x").files[0].levle\nwrong: int = deburr.compare([1], [2]).verdict\n')
    done = run("-m", "mypy", "--strict", sample)
    assert "levle" in done.stdout and "Incompatible types in assignment" in done.stdout


def test_module_command_and_extra_have_one_version() -> None:
    version = re.search(r'^version = "(.*)"$', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert deburr.__version__ == version[1]
    assert command("--version").stdout.decode().split() == ["deburr", version[1]]
    extras = (REPOSITORY / "pyproject.toml").read_text()
    for extra, distribution in [("module", "deburr-module"), ("cluster", "deburr-module[cluster]"), ("ray", "deburr-module[ray]")]:
        assert f'{extra} = ["{distribution}=={version[1]}"]' in extras


def test_rules_are_those_of_the_command() -> None:
    listed = json.loads(command("rules", "--format", "json").stdout)["rules"]
    assert [rule.__dict__ for rule in deburr.rules()] == listed
    assert len({rule.id for rule in deburr.rules()}) > 10


def test_a_page_for_notebooks_has_no_markup_of_the_input() -> None:
    content = next(FIXTURES.glob("*/hit-*.o")).read_bytes()
    page = deburr.check([("<script>alert(1)</script>", content), *((f"f{number}", content) for number in range(30))])._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("<tr>") == 21 and "and 11 more files" in page


def test_a_report_and_an_error_go_to_another_process() -> None:
    good = next(FIXTURES.glob("*/hit-*.o"))
    report = deburr.check(good)
    copy = pickle.loads(pickle.dumps(report))
    assert (copy.to_json(), copy.status, copy.complaints) == (report.to_json(), report.status, report.complaints)
    assert copy.document == report.document
    with pytest.raises(deburr.Error) as caught:
        deburr.check([good, "/nonexistent"])
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), error.path) == (str(caught.value), "/nonexistent")
    assert error.report.to_json() == caught.value.report.to_json()  # type: ignore[union-attr]
    with pytest.raises(TypeError):
        pickle.dumps(deburr.check(good, tables=True))


def test_typed_objects_are_frozen() -> None:
    (file,) = deburr.check(next(FIXTURES.glob("*/hit-*.o"))).files
    with pytest.raises(AttributeError):
        file.path = "other"  # type: ignore[misc]


A = [10.0, 10.2, 9.9, 10.1, 10.3, 9.8, 10.0, 10.1, 10.2, 9.9, 10.05, 10.15]
B = [one * 0.8 + 0.01 * (number % 3) for number, one in enumerate(A)]


@pytest.mark.parametrize("options", [{}, {"paired": True}, {"paired": True, "better": "larger"}, {"paired": True, "region": 30.0}])
def test_a_comparison_is_that_of_the_command(options: dict[str, Any], tmp_path: Path) -> None:
    for name, values in [("a", A), ("b", B)]:
        (tmp_path / name).write_text("".join(f"{value!r}\n" for value in values))
    words = ["--paired"] if options.get("paired") else []
    words += [f"--{name}={options[name]}" for name in ("better", "region") if name in options]
    done = command("compare", "--format", "json", *words, "--values", "a", "b")
    of_command = json.loads(done.stdout)
    compared = deburr.compare(A, B, **options)
    assert compared == deburr.Comparison._of(of_command)
    assert compared.verdict == of_command["verdict"]
    assert compared.effect == of_command["effect"] < -0.15
    expected = {"larger": "worse"}.get(options.get("better", ""), "better" if options.get("paired") else "inconclusive")
    assert compared.verdict == ("same" if "region" in options else expected)


def test_measurements_that_say_nothing_are_errors() -> None:
    for a, b in [([], []), ([1.0], [2.0]), ([1.0, float("nan")], [1.0, 2.0]), ([1.0, float("inf")], [1.0, 2.0])]:
        with pytest.raises(deburr.Error):
            deburr.compare(a, b)
    with pytest.raises(deburr.Error, match="--paired"):
        deburr.compare([1.0, 2.0, 3.0], [1.0, 2.0], paired=True)
    with pytest.raises(deburr.Error):
        deburr.compare(A, B, better="--format=text")  # type: ignore[arg-type]


def test_the_tutorial_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(REPOSITORY / "docs/reference/python.ipynb", as_version=4)
    done = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("<table>" in output.get("data", {}).get("text/html", "") for output in outputs)
