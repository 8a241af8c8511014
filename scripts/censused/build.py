"""`census levels`, first part: builds a project by gcc for one level, and makes a Debian package of what came out.

Flags are `-O2 -march=LEVEL` and nothing else that has to do with code; names of functions are kept, since builds are joined by them.
"""

import glob
import os
import shutil

from censused.groups import Fault, run

JOBS = "-j2"


def flags(level):
    return f"-O2 -DNDEBUG -march={level}"


def cmake(project, source, folder, level):
    described = os.path.join(source, project.folder)
    options = ["-DCMAKE_BUILD_TYPE=None", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", *project.options]
    yield ["cmake", "-S", described, "-B", folder, *options]
    yield ["cmake", "--build", folder, JOBS]


def configure(project, source, folder, level):
    copy(source, folder)
    described = os.path.join(folder, project.folder)
    if not os.path.exists(os.path.join(described, "configure")):
        yield ["autoreconf", "-fi", described]
    yield ["sh", "-c", 'cd "$1" && shift && ./configure "$@"', "sh", described, *project.options]
    yield ["make", "-C", described, JOBS]


def make(project, source, folder, level):
    copy(source, folder)
    yield ["make", "-C", os.path.join(folder, project.folder), JOBS, f"CFLAGS={flags(level)} -fPIC", *project.options]


def copy(source, folder):
    shutil.copytree(source, folder, symlinks=True, dirs_exist_ok=True)
    # Sources that make their own documents look at times, which a copy of a Git tree does not have.
    run(["find", folder, "-type", "f", "-exec", "touch", "-r", folder, "{}", "+"])


SYSTEMS = {"cmake": cmake, "configure": configure, "make": make}


def build(project, source, folder, level):
    """The ELF files that the project is made of, each once."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = {**os.environ, "CC": "gcc", "CXX": "g++", "CFLAGS": flags(level), "CXXFLAGS": flags(level)}
    for command in SYSTEMS[project.system](project, source, folder, level):
        done = run(["nice", "-n", "10", *command], env=environment)
        if done.returncode != 0:
            raise Fault(f"{project.source}: {command[0]}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}")
    found = {os.path.realpath(path) for pattern in project.products for path in glob.glob(os.path.join(folder, pattern), recursive=True, include_hidden=True)}
    products = sorted(path for path in found if os.path.isfile(path) and open(path, "rb").read(4) == b"\x7fELF")
    if not products:
        raise Fault(f"{project.source}: no {' or '.join(project.products)} came out")
    return products


def package(project, products, version, folder):
    """A package of these files. Its version has no sign of the level, so that members and names are those of the other build."""
    root = folder + ".root"
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(os.path.join(root, "DEBIAN"))
    os.makedirs(os.path.join(root, "usr/lib"))
    with open(os.path.join(root, "DEBIAN/control"), "w", encoding="utf-8") as control:
        control.write(f"Package: {project.source}\nVersion: {version}\nArchitecture: amd64\n"
                      "Maintainer: nobody <nobody@localhost>\nDescription: a build at one level\n")
    for product in products:
        shutil.copy(product, os.path.join(root, "usr/lib", os.path.basename(product)))
    done = run(["dpkg-deb", "-Zgzip", "--build", "--root-owner-group", root, folder + ".deb"])
    if done.returncode != 0:
        raise Fault(f"{project.source}: dpkg-deb: {done.stderr.strip()}")
    shutil.rmtree(root)
    return folder + ".deb"
