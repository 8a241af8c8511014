"""Fetches packages of the distribution, PyPI, npm and Maven by their ordinary clients, and finds files in them.

What cannot be had is a `Missing` with the client's own words: never an empty answer.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# Class, byte order and machine at the start of an ELF file: 64 bits, little-endian, EM_X86_64 and EM_AARCH64.
ELF_HEADERS = {"x86_64": (2, 1, 62), "aarch64": (2, 1, 183)}


class Missing(Exception):
    """A package that could not be had, or that lacks the file."""


class Superseded(Missing):
    """A package of which the distribution has another version now."""


def run(command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, text=True, errors="replace", capture_output=True, **options)


def elf_header(path):
    """Class, byte order and machine of an ELF file; None of another."""
    with open(path, "rb") as file:
        start = file.read(20)
    return (start[4], start[5], int.from_bytes(start[18:20], "little")) if start[:4] == b"\x7fELF" and len(start) == 20 else None


class Files:
    def __init__(self, work):
        self.work = work

    def folder(self, arch, kind, spec, python="3.11"):
        """The unpacked package, and what it is in words. `python`: of a wheel."""
        return self.wheel(arch, spec, python) if kind == "wheel" else getattr(self, kind)(arch, spec)

    def deb(self, arch, spec):
        package, _, version = spec.partition("=")
        folder = os.path.join(self.work, DEBIAN[arch], package)
        if not glob.glob(os.path.join(folder, ".from-*")):
            done = run([os.path.join(ROOT, "scripts/fetch-package"), self.work, DEBIAN[arch], package])
            if done.returncode != 0:
                raise Missing(f"{package} ({arch}): {done.stderr.strip()}")
        stamp = glob.glob(os.path.join(folder, ".from-*"))[0]
        found = re.search(r"_(.*)_", os.path.basename(stamp))[1].replace("%3a", ":")
        if version and version != found:
            raise Superseded(f"{package} ({arch}): the sample has {version}, the distribution {found}")
        return folder, f"{package} {found}"

    def wheel(self, arch, spec, python="3.11"):
        folder = os.path.join(self.work, "wheels-" + arch, spec)
        if not os.path.isdir(folder):
            tags = ["2_35", "2_34", "2_31", "2_28", "2_27", "2_26", "2_24", "2_17", "2_12", "2_5"]
            platforms = [part for tag in tags for part in ("--platform", f"manylinux_{tag}_{arch}")]
            platforms += [part for tag in ("2014", "2010", "1") for part in ("--platform", f"manylinux{tag}_{arch}")]
            cache = folder + ".download"
            done = run([sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--python-version", python,
                        *platforms, "-d", cache, spec])
            if done.returncode != 0:
                raise Missing(f"{spec} ({arch}): {(done.stderr.strip() or 'pip failed').splitlines()[-1]}")
            with zipfile.ZipFile(glob.glob(os.path.join(cache, "*.whl"))[0]) as archive:
                archive.extractall(folder + ".part")
            os.rename(folder + ".part", folder)
            shutil.rmtree(cache)
        return folder, spec.replace("==", " ")

    def npm(self, arch, spec):
        folder = os.path.join(self.work, "npm", spec.replace("/", "+"))
        if not os.path.isdir(folder):
            cache = folder + ".download"
            os.makedirs(cache, exist_ok=True)
            done = run(["npm", "pack", "--silent", spec], cwd=cache)
            if done.returncode != 0:
                raise Missing(f"{spec}: {(done.stderr.strip() or 'npm pack failed').splitlines()[-1]}")
            with tarfile.open(glob.glob(os.path.join(cache, "*.tgz"))[0]) as archive:
                archive.extractall(folder + ".part", filter="data")
            os.rename(folder + ".part", folder)
            shutil.rmtree(cache)
        return folder, " ".join(spec.rsplit("@", 1))

    def mvn(self, _, spec):
        """GROUP:ARTIFACT:VERSION[:CLASSIFIER]."""
        folder = os.path.join(self.work, "mvn", spec.replace(":", "+"))
        if not os.path.isdir(folder):
            cache = folder + ".download"
            os.makedirs(cache, exist_ok=True)
            group, artifact, version, *more = spec.split(":")
            # The packaging stands before the classifier, where it is not a JAR: protoc's programs are published by themselves.
            packaging = more.pop(0) if len(more) > 1 else "jar"
            named = ":".join([group, artifact, version, packaging, *more])
            done = run(["mvn", "-B", "-q", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy", f"-Dartifact={named}",
                        f"-DoutputDirectory={cache}"], cwd=cache)
            if done.returncode != 0:
                said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
                raise Missing(f"{spec}: {(said or ['mvn failed'])[0]}")
            if packaging == "jar":
                with zipfile.ZipFile(glob.glob(os.path.join(cache, "*.jar"))[0]) as archive:
                    archive.extractall(folder + ".part")
            else:
                os.makedirs(folder + ".part", exist_ok=True)
                shutil.copy(glob.glob(os.path.join(cache, f"*.{packaging}"))[0], folder + ".part")
            os.rename(folder + ".part", folder)
            shutil.rmtree(cache)
        return folder, " ".join(spec.split(":")[1:])

    def sysroot(self):
        """The distribution's C library and Python for AArch64, as one tree for `qemu-aarch64 -L`."""
        root = os.path.join(self.work, "sysroot-arm64")
        if not os.path.isdir(root):
            packages = ["libc6", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libffi8", "libexpat1", "zlib1g", "libssl3",
                        "libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1", "libgcc-s1", "libstdc++6", "libgomp1", "libncursesw6", "libtinfo6"]
            os.makedirs(root + ".part", exist_ok=True)
            for package in packages:
                folder, _ = self.deb("aarch64", package)
                done = run(["cp", "-a", folder + "/.", root + ".part"])
                if done.returncode != 0:
                    raise Missing(f"sysroot: {done.stderr.strip()}")
            os.rename(root + ".part", root)
        return root

    @staticmethod
    def one(folder, pattern, arch):
        """The largest file of a machine's that a pattern names. A package may have the same name for several machines."""
        found = [f for f in glob.glob(os.path.join(folder, pattern), recursive=True)
                 if os.path.isfile(f) and not os.path.islink(f) and elf_header(f) == ELF_HEADERS[arch]]
        if not found:
            raise Missing(f"{folder} has no {pattern} for {arch}")
        return max(found, key=os.path.getsize)
