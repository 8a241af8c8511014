"""Files that public bug reports name, with the machine on which they die or run, and how that is known.

Each was put to `deburr check` as its reporter would: the machine as `--baseline`, or the package's own claim. Rows of `levels.tsv` state
the level that a file needs; each of them is two cases, since the file must run on that level and not on the one below it.
"""

import dataclasses
import os

from surveyed.sample import Subject

LEVELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "levels.tsv")
ORDER = {
    "x86_64": ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"],
    "aarch64": ["armv8.0-a", "armv8.1-a", "armv8.2-a", "armv8.3-a", "armv8.4-a", "armv8.5-a", "armv9.0-a"],
}
# Which emulated CPU stands for a machine that is named as baseline. Where there is none, the truth is stated.
EMULATED = {
    "x86-64-v1": "Opteron_G1", "x86-64-v2": "Nehalem", "x86-64-v3": "Haswell", "core2": "core2duo", "nehalem": "Nehalem",
    "sandybridge": "SandyBridge", "ivybridge": "IvyBridge", "armv8.0-a": "cortex-a53", "cortex-a72": "cortex-a72", "m2": "cortex-a76",
    "neoverse-n1": "neoverse-n1", "raspberrypi4": "cortex-a72",
}
LOADED = "ctypes.CDLL('{file}', mode=1)"


@dataclasses.dataclass(frozen=True)
class Case:
    """One file on one machine. `truth` is `dies` or `runs`; `report` the thread or list that says so; `how` how it is known,
    where no `use` or `run` of the subject settles it under an emulator."""

    subject: Subject
    baseline: str
    truth: str
    report: str
    how: str = ""
    large: bool = False

    @property
    def key(self):
        return f"{self.subject.key} {self.baseline}"


def wheel(arch, spec, pattern, **options):
    return Subject(arch, "wheel", spec, pattern, **options)


REPORTS = [
    Case(wheel("aarch64", "paulimer==0.1.1", "**/*.so", use="import paulimer"), "m2", "dies", "SVE, and nothing in the file reads a bit for it"),
    Case(wheel("x86_64", "mistralrs==0.5.0", "**/*.so", use="import mistralrs"), "ivybridge", "dies", "mistral.rs#1269"),
    Case(wheel("x86_64", "mistralrs==0.5.0", "**/*.so", use="import mistralrs"), "x86-64-v3", "runs", "mistral.rs#1269"),
    Case(wheel("aarch64", "torch==2.6.0", "**/libtorch_cpu.so"), "raspberrypi4", "dies", "pytorch#146792", "stated by the report: LSE", large=True),
    Case(wheel("x86_64", "pcodec==1.1.0", "**/*.so", use="import pcodec"), "nehalem", "dies", "levels.tsv"),
    Case(wheel("x86_64", "pcodec==1.1.0", "**/*.so", use="import pcodec"), "sandybridge", "dies", "levels.tsv"),
    Case(wheel("x86_64", "tables==3.6.1", "**/tableextension*.so", python="3.8"), "nehalem", "dies", "PyTables#846",
         "stated: dies on import, before c-blosc asks"),
    Case(wheel("x86_64", "pyperscan==0.2.2", "**/*.so", use="import pyperscan; pyperscan.BlockDatabase(pyperscan.Pattern(b'foo.*'))"), "core2", "dies",
         "pyperscan: not on core2"),
    Case(wheel("x86_64", "pyperscan==0.2.2", "**/*.so", use="import pyperscan; pyperscan.BlockDatabase(pyperscan.Pattern(b'foo.*'))"), "x86-64-v2", "runs",
         "pyperscan: not on core2"),
    Case(wheel("x86_64", "polars-runtime-32==2.1.0", "**/*.so", use=LOADED), "x86-64-v2", "dies", "survey.tsv"),
    Case(wheel("x86_64", "scann==1.4.2", "scann/**/scann_pybind.so", use=LOADED), "nehalem", "dies", "survey.tsv"),
    Case(wheel("x86_64", "parasail==1.3.4", "**/libparasail.so"), "x86-64-v1", "runs", "levels.tsv",
         "13 documented calls run on Opteron_G1"),
    Case(Subject("aarch64", "mvn", "org.rocksdb:rocksdbjni:6.11.4", "**/librocksdbjni-linux-aarch64-musl.so"), "raspberrypi4", "dies", "rocksdb#7363",
         "stated by the report: PMULL after a check for CRC-32 alone"),
    Case(Subject("aarch64", "mvn", "org.rocksdb:rocksdbjni:6.11.4", "**/librocksdbjni-linux-aarch64-musl.so"), "cortex-a72", "dies", "rocksdb#7363",
         "stated by the report: PMULL after a check for CRC-32 alone"),
    Case(Subject("x86_64", "mvn", "com.github.luben:zstd-jni:1.5.6-9", "linux/amd64/libzstd-jni-*.so"), "x86-64-v1", "runs", "a false v3 of e_entry"),
    Case(Subject("aarch64", "npm", "@oven/bun-linux-aarch64@1.1.17", "**/bun", run=["{file}", "--version"]), "neoverse-n1", "runs", "bun 1.1.17"),
    Case(Subject("aarch64", "npm", "@napi-rs/canvas-linux-arm64-gnu@0.1.69", "**/*.node", use=LOADED), "raspberrypi4", "dies", "mimalloc built for Armv8.1"),
    Case(Subject("aarch64", "npm", "@node-rs/bcrypt-linux-arm64-gnu@1.10.8", "**/*.node", use=LOADED), "raspberrypi4", "dies", "mimalloc built for Armv8.1"),
    Case(Subject("aarch64", "npm", "@oxc-parser/binding-linux-arm64-gnu@0.69.0", "**/*.node", use=LOADED), "raspberrypi4", "dies", "mimalloc built for Armv8.1"),
    Case(wheel("x86_64", "tensorflow==2.4.0", "**/_pywrap_tensorflow_internal.so", python="3.8"), "sandybridge", "dies", "TensorFlow 2.4.0 and 2.4.1",
         "stated by its release notes: AVX2 and FMA", large=True),
    Case(wheel("x86_64", "tensorflow==2.4.1", "**/_pywrap_tensorflow_internal.so", python="3.8"), "sandybridge", "runs", "TensorFlow 2.4.0 and 2.4.1",
         "stated by its release notes: AVX", large=True),
]


def of_levels(path=LEVELS):
    """The cases of a list such as `levels.tsv`: source, file, level, an older answer, how the level is known."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    name = os.path.basename(path)
    for source, pattern, level, _, how in rows:
        subject = of_source(source, f"**/{pattern}", level)
        order = ORDER[subject.arch]
        below = order[order.index(level) - 1] if level != order[0] else None
        yield Case(subject, level, "runs", name, how)
        if below:
            yield Case(subject, below, "dies", name, how)


def of_source(source, pattern, level):
    kind, rest = source.split(":", 1)
    arch = "x86_64" if level.startswith("x86") else "aarch64"
    if kind == "whl":
        spec, python, _ = rest.split(":")
        return Subject(arch, "wheel", spec, pattern, python=python)
    if kind == "deb":
        return Subject(arch, "deb", rest.split(":", 1)[1], pattern)
    if kind == "mvn":
        return Subject(arch, "mvn", rest.rstrip(":"), pattern)
    return Subject(arch, "npm", rest, pattern)


CASES = REPORTS + list(of_levels())
