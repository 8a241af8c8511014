"""Reads a wheel by Python's own library, compares each file with RECORD, and prints what is in it as JSON."""

import base64
import csv
import hashlib
import io
import json
import sys
import zipfile

wheel = zipfile.ZipFile(sys.argv[1])
assert wheel.testzip() is None
names = wheel.namelist()
assert len(names) == len(set(names)), names
[record_name] = [name for name in names if name.endswith(".dist-info/RECORD")]
record = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(record_name).decode()))}
assert sorted(record) == sorted(names), (record, names)
for name in names:
    content = wheel.read(name)
    if name == record_name:
        assert record[name] == ["", ""], record[name]
        continue
    hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert record[name] == [f"sha256={hashed}", str(len(content))], name
variants = [name for name in names if name.endswith(".dist-info/variant.json")]
print(json.dumps({
    "names": names,
    "variant": json.loads(wheel.read(variants[0])) if variants else None,
    "modes": {member.filename: member.external_attr >> 16 for member in wheel.infolist()},
    "times": sorted({member.date_time for member in wheel.infolist()}),
    "descriptors": any(member.flag_bits & 8 for member in wheel.infolist()),
}))
