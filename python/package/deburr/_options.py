"""Arguments → words of the command line, which the command's parser reads: no option is written twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Union

Path = Union[str, "os.PathLike[str]"]
Names = Union[str, Sequence[str]]


def words(
    *,
    target: Names,
    baseline: Names,
    select: Names,
    ignore: Names,
    preview: bool,
    strict: bool,
    threads: int | None,
    config: Path | None,
) -> list[str]:
    """The options that `check` and `scan` share."""
    lists = {"target": target, "baseline": baseline, "select": select, "ignore": ignore}
    made = [f"--{option}={name}" for option, names in lists.items() for name in _list(names)]
    made += [f"--{option}" for option, wanted in {"preview": preview, "strict": strict}.items() if wanted]
    made += [f"--threads={threads}"] if threads is not None else []
    made += [f"--config={os.fspath(config)}"] if config is not None else []
    return made


def _list(names: Names) -> Sequence[str]:
    return [names] if isinstance(names, str) else names
