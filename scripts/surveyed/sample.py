"""A sample is a list of subjects: which file of which package, and how to find out what it needs."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Subject:
    """One file of one package of one version.

    `use` is Python code that loads and uses the file ({file} is its path), `run` a command line; with neither it is only
    loaded. `needs` are packages of the same kind (`deb:NAME` for the distribution's) that have to be there for that.
    `stated` is the level where no run tells it, with the reason in `why`; with a reason it is not run at all. `python` is the version whose wheel
    is meant.
    """

    arch: str
    kind: str
    spec: str
    pattern: str
    use: str | None = None
    run: list[str] | None = None
    needs: list[str] = dataclasses.field(default_factory=list)
    stated: str | None = None
    why: str = ""
    python: str = "3.11"

    @property
    def key(self):
        return f"{self.arch} {self.spec} {self.pattern}"
