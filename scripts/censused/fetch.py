"""`census fetch`: packages by their lists, from the distribution and from PyPI, by their ordinary clients.

What comes with other bytes than the list says is set aside and named: an update of the distribution has superseded it. A machine whose
sources are a snapshot of the distribution has the old version again.
"""

import glob
import os
import re
import sys

from censused import groups
from censused.groups import ROOT, Fault, run, sha256

# The platforms of wheels that a machine of today installs.
GLIBC = [39, 38, 36, 35, 34, 31, 28, 27, 26, 24, 17, 12, 5]
PYTHON = "3.11"


def fetch(chosen, work, renew):
    faults = []
    for group in chosen:
        listed = groups.read(group.list_path)
        os.makedirs(group.folder(work), exist_ok=True)
        missing = [package for package in listed if not has(group, work, package, renew)]
        print(f"census: {group.name}: {len(listed) - len(missing)} of {len(listed)} packages are there", file=sys.stderr)
        if missing:
            faults += CLIENTS[group.kind](group, work, missing, renew)
        if renew:
            groups.write(group.list_path, [found(group, work, package) for package in listed])
            continue
        faults += set_aside(group, work, listed)
    if faults:
        raise Fault(f"{len(faults)} packages could not be had as listed:\n  " + "\n  ".join(faults))


def files(group, work, package):
    """The files of a package in any version. Projects of PyPI are equal up to case and the signs between words."""
    if group.kind == "debian":
        return glob.glob(os.path.join(glob.escape(group.folder(work)), f"{package.name}_*.deb"))
    normal = re.sub(r"[-_.]+", "-", package.name).lower()
    there = glob.glob(os.path.join(glob.escape(group.folder(work)), "*.whl"))
    return [path for path in there if re.sub(r"[-_.]+", "-", os.path.basename(path).split("-")[0]).lower() == normal]


def has(group, work, package, renew):
    return any(renew or sha256(path) == package.sha256 for path in files(group, work, package))


def found(group, work, package):
    """The package as it is there now; one that could not be had keeps its line."""
    there = files(group, work, package)
    if not there:
        return package
    if len(there) > 1:
        raise Fault(f"{package.name}: several versions are in {group.folder(work)}")
    part = os.path.basename(there[0]).split("_" if group.kind == "debian" else "-")[1]
    return groups.Package(package.name, part.replace("%3a", ":"), sha256(there[0]), package.chosen)


def debian(group, work, packages, _renew):
    command = [os.path.join(ROOT, "scripts/fetch-package"), "--keep", group.folder(work), os.path.join(work, "apt"), group.arch]
    done = run([*command, *(package.name for package in packages)])
    return [] if done.returncode == 0 else [f"{group.name}: {done.stderr.strip()}"]


def wheels(group, work, packages, renew):
    tags = [f"manylinux_2_{minor}_{group.arch}" for minor in GLIBC] + [f"manylinux{year}_{group.arch}" for year in ("2014", "2010", "1")]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", PYTHON,
               "--dest", group.folder(work), *(part for tag in tags for part in ("--platform", tag))]
    faults = []
    for package in packages:
        done = run([*command, package.name if renew else f"{package.name}=={package.version}"])
        if done.returncode != 0:
            faults.append(f"{group.name}: {package.name}: {(done.stderr.strip() or 'pip failed').splitlines()[-1]}")
    return faults


CLIENTS = {"debian": debian, "wheels": wheels}


def set_aside(group, work, listed):
    """Moves files away that no line of the list describes, so that only what is listed is checked."""
    faults, known = [], {package.sha256 for package in listed}
    aside = group.folder(work) + ".superseded"
    for path in sorted(glob.glob(os.path.join(glob.escape(group.folder(work)), "*.*"))):
        if sha256(path) not in known:
            os.makedirs(aside, exist_ok=True)
            os.replace(path, os.path.join(aside, os.path.basename(path)))
            faults.append(f"{group.name}: {os.path.basename(path)} is not as listed")
    return faults
