"""Builds a wheel from kernel.c by the standard library alone: make_wheel.py OUT [OPTION...]

Members come in another order and with another time at each run. Options: tag=..., project=..., label=..., pure, none,
member=NAME (one more file of that name), script (an executable file), define=NAME (for the compiler).
"""

import base64
import hashlib
import os
import random
import subprocess
import sys
import time
import zipfile

out, *options = sys.argv[1:]
values = dict(option.split("=", 1) for option in options if "=" in option)
if "none" in options:
    sys.exit(0)
project = values.get("project", "kernels")
machine = "aarch64" if "aarch64" in values.get("cc", "") else "x86_64"
tag = values.get("tag", "py3-none-any" if "pure" in options else f"cp311-cp311-linux_{machine}")
info = f"{project}-1.0.dist-info"
files = {
    f"{project}/__init__.py": b"",
    f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n".encode(),
}
modes = {}
command = [values.get("cc", "gcc"), "-O3", "-ffast-math", "-shared", "-fPIC", "-o", "kernel.so", "kernel.c"]
if "pure" not in options:
    defines = [f"-D{values['define']}"] if "define" in values else []
    subprocess.run(command + defines, check=True)
    with open("kernel.so", "rb") as kernel:
        files[f"{project}/kernel.so"] = kernel.read()
if "script" in options:
    files[f"{project}/run.sh"] = b"#!/bin/sh\n"
    modes[f"{project}/run.sh"] = 0o100755
if "member" in values:
    files[values["member"]] = b"more\n"


def line(name, content):
    hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={hashed},{len(content)}\n"


record = "".join(line(*file) for file in files.items()) + f"{info}/RECORD,,\n"
files[f"{info}/RECORD"] = record.encode()
members = list(files.items())
random.shuffle(members)
label = f"-{values['label']}" if "label" in values else ""
path = os.path.join(out, f"{project}-1.0-{tag}{label}.whl")
os.makedirs(out, exist_ok=True)
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, content in members:
        member = zipfile.ZipInfo(name, time.localtime()[:6])
        member.compress_type = zipfile.ZIP_DEFLATED
        member.external_attr = modes.get(name, 0o100644) << 16
        wheel.writestr(member, content)
