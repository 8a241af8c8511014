"""Object storage on this machine: moto's server, as pyarrow, fsspec and URIs know it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pyarrow.fs
import s3fs
from moto.server import ThreadedMotoServer

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


@dataclass(frozen=True)
class Storage:
    port: int

    def uri(self, place: str) -> str:
        return f"s3://{place}?scheme=http&endpoint_override=127.0.0.1:{self.port}"

    def pyarrow(self) -> Any:
        return pyarrow.fs.S3FileSystem(endpoint_override=f"127.0.0.1:{self.port}", scheme="http", region="us-east-1")

    def fsspec(self) -> Any:
        return s3fs.S3FileSystem(endpoint_url=f"http://127.0.0.1:{self.port}")

    def client(self) -> Any:
        return boto3.client("s3", endpoint_url=f"http://127.0.0.1:{self.port}")

    def put(self, bucket: str, folder: Path, prefix: str = "") -> None:
        """Makes a bucket of a folder."""
        client = self.client()
        client.create_bucket(Bucket=bucket)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            client.put_object(Bucket=bucket, Key=prefix + str(path.relative_to(folder)), Body=path.read_bytes())

    def get(self, bucket: str, folder: Path, prefix: str = "") -> Path:
        """Makes a folder of a bucket."""
        client = self.client()
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for item in page.get("Contents", []):
                place = folder / item["Key"].removeprefix(prefix)
                if not item["Key"].endswith("/"):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(client.get_object(Bucket=bucket, Key=item["Key"])["Body"].read())
        return folder


@contextmanager
def serve() -> Iterator[Storage]:
    # Processes that Ray starts have these, too.
    os.environ.update(KEYS)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield Storage(server.get_host_and_port()[1])
    finally:
        server.stop()
