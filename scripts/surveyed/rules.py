"""What each rule says of a file: the rules that other tools use today, and deburr.

    ELF note           the level in GNU_PROPERTY_X86_ISA_1_NEEDED, as auditwheel reads it; silent where the file has none
    AVX, no cpuid      `objdump -d` shows VEX or EVEX instructions and no cpuid: needs v3; otherwise does not
    elfx86exts         the level of all extensions that it lists
    deburr             files[].level of `deburr check --format json`
"""

import collections
import json
import os
import re
import subprocess

from surveyed.fetch import ROOT, run

TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
ELFX86EXTS = os.path.join(TARGET, "bench-tools", "bin", "elfx86exts")
SECONDS = 600

V2 = {"SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT", "CMPXCHG16B"}
V3 = {"AVX", "AVX2", "BMI", "BMI2", "FMA", "FMA3", "F16C", "LZCNT", "MOVBE"}
V4 = {"AVX512", "BWI", "VLX", "CDI", "DQI"}


def note(path, _):
    found = re.search(r"x86 ISA needed: (.*)", run(["readelf", "--notes", "--wide", path]).stdout)
    if not found:
        return None
    return max(re.findall(r"x86-64-(v[234])", found[1]), default="v1")


def avx_without_cpuid(path, arch):
    if arch != "x86_64":
        return None
    has_avx = False
    process = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True, errors="replace")
    for line in process.stdout:
        instruction = line.partition("\t")[2]
        if instruction.startswith("cpuid"):
            process.kill()
            return "below v3"
        has_avx = has_avx or instruction.startswith("v") and "%" in instruction and not instruction.startswith(("verr", "verw"))
    return "v3 or more" if has_avx else "below v3"


def extensions(path, arch):
    if arch != "x86_64":
        return None
    found = re.search(r"Instruction set extensions used: (.*)", run([ELFX86EXTS, path]).stdout)
    if not found:
        return None
    used = set(found[1].split(", "))
    return "v4" if used & V4 else "v3" if used & V3 else "v2" if used & V2 else "v1"


OTHERS = {"ELF note": note, "AVX, no cpuid": avx_without_cpuid, "elfx86exts": extensions}


def short(level):
    return re.sub(r"^x86-64-|^arm(v[0-9.]+)-a$", lambda found: found[1] or "", level)


def report(program, path):
    """The JSON entry of one file; None where deburr took too long or said nothing."""
    try:
        done = run([program, "check", "--no-debug-files", "--format", "json", path], timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    files = json.loads(done.stdout)["files"] if done.stdout else []
    return files[0] if files else None


def digest(file):
    """What the tables show of it: the level, functions by verdict, the unknown ones by cause."""
    verdicts = collections.Counter(function["reach"] for function in file["isa_functions"])
    causes = collections.Counter(function.get("because", "none given") for function in file["isa_functions"] if function["reach"] == "unknown")
    return {"level": short(file["level"]), "verdicts": dict(verdicts), "causes": dict(causes)}


def judge(truth, answer, digest=None):
    """right, high, low or silent. An answer that is too low is silence where functions are left open."""
    if answer is None:
        return "silent"
    if answer == "below v3":
        return "right" if truth in ("v1", "v2") else "low"
    if answer == "v3 or more":
        return "right" if truth in ("v3", "v4") else "high"
    if answer == truth:
        return "right"
    if number(answer) > number(truth):
        return "high"
    return "silent" if digest and digest["verdicts"].get("unknown") else "low"


def number(level):
    return [int(part) for part in level[1:].split(".")]
