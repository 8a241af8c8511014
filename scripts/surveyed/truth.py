"""What a file really needs: the first CPU, of one for each level, on which it can be loaded and used under qemu-user.

Where a run dies with SIGILL on one CPU and succeeds on the next, the file needs the next. A run that fails for any other
reason tells nothing, and says why.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

from surveyed.fetch import DEBIAN

PYTHON = os.path.realpath(sys.executable)
SECONDS = 240

# One CPU model for each level that qemu can play. `cortex-a76` has Armv8.2 with dot products, as every level after it; of
# Armv8.1 alone there is no model, so that what needs 8.1 shows as 8.2.
CPUS = {
    "x86_64": [("v1", "Opteron_G1"), ("v2", "Nehalem"), ("v3", "Haswell")],
    "aarch64": [("v8.0", "cortex-a53"), ("v8.2", "cortex-a76"), ("above", "max")],
}


class Runner:
    """Turns a subject into a command line under qemu."""

    def __init__(self, files, arch, kind, folder, path, needs):
        self.files, self.arch, self.path = files, arch, path
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                            "OPENBLAS_NUM_THREADS": "1", "GOMAXPROCS": "2"}
        folders = [folder] + [files.folder(arch, "deb" if n.startswith("deb:") else kind, n.removeprefix("deb:"))[0] for n in needs]
        # A package's libraries are where it keeps them, and the loader of another architecture searches nowhere else.
        libraries = [os.path.dirname(path)]
        for each in folders:
            libraries += [os.path.dirname(f) for f in glob.glob(os.path.join(each, "**", "*.so*"), recursive=True)]
        own = [d for d in dict.fromkeys(libraries) if kind != "wheel" or d.endswith(".libs") or os.path.join(files.work, DEBIAN[arch]) in d
               or d == os.path.dirname(path)]
        self.environment["LD_LIBRARY_PATH"] = ":".join(own)
        self.environment["PYTHONPATH"] = ":".join(f for f in folders if kind == "wheel")
        if path.endswith(".node"):
            self.environment["QEMU_SET_ENV"] = "LD_PRELOAD=" + stand_in(files, arch, path)
        self.emulator = ["qemu-" + arch] + (["-L", files.sysroot()] if arch == "aarch64" else [])

    def command(self, use, run, cpu, log=()):
        if run:
            program = [part.replace("{file}", self.path) for part in run]
        else:
            python = PYTHON if self.arch == "x86_64" else os.path.join(self.files.sysroot(), "usr/bin/python3.11")
            program = [python, "-c", "import ctypes\n" + (use or "ctypes.CDLL('{file}')").replace("{file}", self.path)]
        return [*self.emulator, "-cpu", cpu, *log, *program]

    def __call__(self, use, run, cpu, log=()):
        """None where it ran, otherwise `SIGILL` or the last line that it wrote."""
        with tempfile.TemporaryDirectory() as scratch:
            environment = dict(self.environment, TMPDIR=scratch)
            try:
                done = subprocess.run(self.command(use, run, cpu, log), env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                      text=True, errors="replace", timeout=SECONDS, cwd=scratch)
            except subprocess.TimeoutExpired:
                return f"no end within {SECONDS} s"
        if done.returncode == 0:
            return None
        if "signal 4 (Illegal instruction)" in done.stderr or done.returncode == -4:
            return "SIGILL"
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]


def stand_in(files, arch, path):
    """A library with the functions that an addon expects of node: it has to be there for the loader, and nothing calls it."""
    library = os.path.join(files.work, f"node-{arch}-{os.path.basename(os.path.dirname(os.path.dirname(path)))}-{os.path.basename(path)}.so")
    if not os.path.exists(library):
        compiler, names = ("gcc", "nm") if arch == "x86_64" else ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-nm")
        listed = subprocess.run([names, "-D", "--undefined-only", path], capture_output=True, text=True, check=True).stdout
        missing = re.findall(r"\b((?:napi|node|uv)_\w+)$", listed, re.MULTILINE)
        source = "".join(f"int {name}(void) {{ return 1; }}\n" for name in missing)
        subprocess.run([compiler, "-shared", "-nostdlib", "-o", library, "-x", "c", "-"], input=source, text=True, check=True)
    return library


def lowest(runner, use, run):
    """The level of the first CPU on which it runs, and why not if there is none."""
    why = "SIGILL on every CPU"
    for level, cpu in CPUS[runner.arch]:
        failed = runner(use, run, cpu)
        if failed is None:
            return (level, None) if level != "above" else (None, f"it runs on {cpu} alone: its level has to be stated")
        if failed != "SIGILL":
            return None, f"{cpu}: {failed}"
    return None, why


def settle(files, subject, folder, path):
    """The level that a subject needs, and what that rests on; (None, why) where no run tells it.

    What uses the file may use other packages, which have needs of their own: numpy needs v2. Where the file can be loaded
    without them on a lower CPU, that counts."""
    runner = Runner(files, subject.arch, subject.kind, folder, path, subject.needs)
    level, why = lowest(runner, subject.use, subject.run)
    used = bool(subject.run) or bool(subject.use) and "mode=1" not in subject.use
    evidence = "run" if used else "loaded"
    first = CPUS[subject.arch][0][0]
    if used and level != first and any(need.startswith("numpy") for need in subject.needs):
        loaded, _ = lowest(runner, "ctypes.CDLL('{file}', mode=1)", None)
        if loaded and (level is None or loaded < level):
            return loaded, f"loaded; run on {level}, as numpy needs v2" if level else "loaded"
    return (level, evidence) if level else (None, why)
