"""`deburr.compare`: two lists of measurements → whether B is really better, by the statistics of `deburr compare`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from . import _native
from ._comparison import Comparison


def compare(
    a: Iterable[float],
    b: Iterable[float],
    *,
    paired: bool = False,
    better: Literal["smaller", "larger"] = "smaller",
    region: float = 1.0,
) -> Comparison:
    """Compares B with A, as `deburr compare --values A B` does with two files of numbers.

    a, b: measurements of one metric in one unit; at least two of each.
    paired: value N of both was measured in turn. Without it nobody knows the order of the runs, and there is no verdict.
    better: which direction is.
    region: differences up to this many percent do not matter.

    Of the result, `verdict` is better, worse, same or inconclusive; `effect` and `interval` are fractions of A: -0.03 of a time
    is a time shorter by 3 %. Raises Error where numbers are too few or no numbers.
    """
    words = [f"--better={better}", f"--region={region!r}"] + (["--paired"] if paired else [])
    return Comparison._of(json.loads(_native.compare(words, [float(one) for one in a], [float(one) for one in b])))
