"""Makes an OCI image layout of folders, as registries have them: one image for each platform, with attestations between them.

In: the layout's folder, then for each image PLATFORM=COMPRESSION=FOLDER[,FOLDER...]: one layer for each folder; COMPRESSION is tar,
gzip, zstd or docker (gzip with Docker's media types). Out: the layout. image-spec 1.1; attestations as BuildKit writes them.
"""
import gzip, hashlib, io, json, os, subprocess, sys, tarfile

root = sys.argv[1]
os.makedirs(os.path.join(root, "blobs", "sha256"))

def blob(data, media_type):
    name = hashlib.sha256(data).hexdigest()
    with open(os.path.join(root, "blobs", "sha256", name), "wb") as file:
        file.write(data)
    return {"mediaType": media_type, "digest": "sha256:" + name, "size": len(data)}

def document(value, media_type):
    return blob(json.dumps(value).encode(), media_type)

def archive(folder):
    def plain(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = "root"
        return entry
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, name), arcname="./" + name, filter=plain)
    return written.getvalue()

manifests = []
for image in sys.argv[2:]:
    platform, compression, folders = image.split("=", 2)
    kind = "docker.image.rootfs.diff.tar.gzip" if compression == "docker" else "oci.image.layer.v1.tar"
    suffix = {"tar": "", "docker": "", "gzip": "+gzip", "zstd": "+zstd"}[compression]
    layers, diff_ids = [], []
    for folder in folders.split(","):
        plain = archive(folder)
        diff_ids.append("sha256:" + hashlib.sha256(plain).hexdigest())
        packed = {"tar": lambda: plain, "gzip": lambda: gzip.compress(plain), "docker": lambda: gzip.compress(plain),
                  "zstd": lambda: subprocess.run(["zstd", "-q", "-c"], input=plain, capture_output=True, check=True).stdout}
        layers.append(blob(packed[compression](), f"application/vnd.{kind}{suffix}"))
    architecture, _, variant = platform.partition("/")
    named = {"os": "linux", "architecture": architecture, **({"variant": variant} if variant else {})}
    config = {**named, "config": {"Env": ["PATH=/usr/bin:/bin"], "Cmd": ["/bin/sh"]},
              "rootfs": {"type": "layers", "diff_ids": diff_ids},
              "history": [{"created_by": "make_base"} for _ in layers] + [{"created_by": "CMD", "empty_layer": True}]}
    names = ("docker.container.image.v1", "docker.distribution.manifest.v2") if compression == "docker" else \
        ("oci.image.config.v1", "oci.image.manifest.v1")
    manifest = document({"schemaVersion": 2, "mediaType": f"application/vnd.{names[1]}+json",
                         "config": document(config, f"application/vnd.{names[0]}+json"), "layers": layers},
                        f"application/vnd.{names[1]}+json")
    manifests.append({**manifest, "platform": named})
    statement = blob(b'{"_type":"https://in-toto.io/Statement/v0.1"}', "application/vnd.in-toto+json")
    nothing = document({"architecture": "unknown", "os": "unknown", "config": {},
                        "rootfs": {"type": "layers", "diff_ids": [statement["digest"]]}}, "application/vnd.oci.image.config.v1+json")
    attestation = document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": nothing,
                            "layers": [statement], "for": platform}, "application/vnd.oci.image.manifest.v1+json")
    manifests.append({**attestation, "platform": {"architecture": "unknown", "os": "unknown"}, "annotations": {
        "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": manifest["digest"]}})
index = "application/vnd.oci.image.index.v1+json"
inner = document({"schemaVersion": 2, "mediaType": index, "manifests": manifests}, index)
with open(os.path.join(root, "index.json"), "w") as file:
    json.dump({"schemaVersion": 2, "mediaType": index, "manifests": [
        {**inner, "annotations": {"org.opencontainers.image.ref.name": "stable"}}]}, file)
with open(os.path.join(root, "oci-layout"), "w") as file:
    json.dump({"imageLayoutVersion": "1.0.0"}, file)
