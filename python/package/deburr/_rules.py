"""`deburr.rules`: what is looked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from . import _native


@dataclass(frozen=True)
class Rule:
    """A rule; `deburr explain ID` prints its page."""

    id: str
    severity: Literal["note", "warning", "error"]
    summary: str
    """One sentence: what is found."""
    preview: bool
    """Whether it runs only with preview=True or select."""


def rules() -> tuple[Rule, ...]:
    """All rules, as `deburr rules` lists them."""
    return tuple(Rule(**rule) for rule in json.loads(_native.rules())["rules"])
