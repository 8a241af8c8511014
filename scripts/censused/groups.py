"""The four groups of packages and their lists: which packages, in which version, with which bytes.

A list is docs/results/census/GROUP.tsv, with a line for each package: name, version, SHA-256, and how it was chosen.
"""

import csv
import dataclasses
import hashlib
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LISTS = os.path.join(ROOT, "docs", "results", "census")
RESULTS = os.path.join(LISTS, "results.json")
COLUMNS = ["name", "version", "sha256", "chosen"]


class Fault(Exception):
    """Something that could not be had or done, in words for the user."""


@dataclasses.dataclass(frozen=True)
class Group:
    name: str
    title: str
    kind: str  # "debian" or "wheels"
    arch: str  # as its packages call it
    isa: str  # as deburr calls it

    @property
    def list_path(self):
        return os.path.join(LISTS, self.name + ".tsv")

    def folder(self, work):
        return os.path.join(work, "packages", self.name)


GROUPS = [
    Group("debian-arm64", "Debian 12, arm64", "debian", "arm64", "aarch64"),
    Group("debian-amd64", "Debian 12, amd64", "debian", "amd64", "x86_64"),
    Group("wheels-aarch64", "PyPI, aarch64", "wheels", "aarch64", "aarch64"),
    Group("wheels-x86_64", "PyPI, x86-64", "wheels", "x86_64", "x86_64"),
]


@dataclasses.dataclass
class Package:
    name: str
    version: str
    sha256: str
    chosen: str


def read(path):
    with open(path, encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if rows.fieldnames != COLUMNS:
            raise Fault(f"{path}: line 1: expected {COLUMNS}, found {rows.fieldnames}")
        packages = []
        for row in rows:
            if None in row or None in row.values():
                raise Fault(f"{path}: line {rows.line_num}: expected {len(COLUMNS)} columns")
            packages.append(Package(**row))
        return packages


def write(path, packages):
    with open(path + ".part", "w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([package.name, package.version, package.sha256, package.chosen] for package in packages)
    os.replace(path + ".part", path)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, text=True, errors="replace", capture_output=True, **options)
