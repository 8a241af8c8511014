"""Reads an OCI image layout with Python's library alone, and writes down what is in it.

In: the layout's folder. Out: JSON on the standard output, an image by platform. Every digest, size and diff_id on the path
from index.json is checked; an assertion fails where one is wrong. image-spec 1.1.
"""
import gzip, hashlib, io, json, os, sys, tarfile

root = sys.argv[1]
used = set()

def blob(descriptor):
    algorithm, name = descriptor["digest"].split(":")
    with open(os.path.join(root, "blobs", algorithm, name), "rb") as file:
        data = file.read()
    assert hashlib.sha256(data).hexdigest() == name, descriptor
    assert len(data) == descriptor["size"], descriptor
    used.add(name)
    return data

def member(entry):
    found = {"type": entry.type.decode(), "mode": entry.mode, "owner": [entry.uid, entry.gid], "time": entry.mtime}
    if entry.linkname:
        found["link"] = entry.linkname
    return found

with open(os.path.join(root, "oci-layout")) as file:
    assert json.load(file) == {"imageLayoutVersion": "1.0.0"}
with open(os.path.join(root, "index.json")) as file:
    outer = json.load(file)
assert outer["schemaVersion"] == 2
(entry,) = outer["manifests"]
assert entry["mediaType"] == "application/vnd.oci.image.index.v1+json"
inner = json.loads(blob(entry))
assert (inner["schemaVersion"], inner["mediaType"]) == (2, entry["mediaType"])
images = []
for described in inner["manifests"]:
    manifest = json.loads(blob(described))
    assert manifest["mediaType"] == described["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    assert manifest["config"]["mediaType"] == "application/vnd.oci.image.config.v1+json"
    config = json.loads(blob(manifest["config"]))
    platform = described["platform"]
    assert {key: config.get(key) for key in ("os", "architecture", "variant")} == \
        {key: platform.get(key) for key in ("os", "architecture", "variant")}, config
    diff_ids = config["rootfs"]["diff_ids"]
    assert len(diff_ids) == len(manifest["layers"])
    layers = []
    for layer, diff_id in zip(manifest["layers"], diff_ids):
        data = blob(layer)
        if layer["mediaType"].endswith("+gzip"):
            data = gzip.decompress(data)
        assert "sha256:" + hashlib.sha256(data).hexdigest() == diff_id
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            entries = archive.getmembers()
            layers.append({
                "names": [entry.name for entry in entries],
                "entries": {entry.name: member(entry) for entry in entries},
                "files": {entry.name: hashlib.sha256(archive.extractfile(entry).read()).hexdigest()
                          for entry in entries if entry.isfile()},
            })
    images.append({"platform": platform, "config": config["config"], "history": config.get("history"), "layers": layers})
assert set(os.listdir(os.path.join(root, "blobs", "sha256"))) == used, "a blob that nothing refers to"
json.dump({"name": entry.get("annotations", {}).get("org.opencontainers.image.ref.name"), "images": images}, sys.stdout)
