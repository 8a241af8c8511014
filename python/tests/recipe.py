"""Programs of docs/how-to/cluster.md, with other places in them: what is written there is what is run."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import REPOSITORY


def of(heading: str, source: Path, tables: Path) -> str:
    """The first Python program below a heading."""
    text = (REPOSITORY / "docs/how-to/cluster.md").read_text()
    found = re.search(rf"^## {heading}$.*?^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    code = found[1]
    for place, here in [("s3://mirror/debian", source), ("s3://tables/debian", tables), ("1795219200", "1700000000")]:
        assert code.count(place) == 1, place
        code = code.replace(place, str(here))
    return code
