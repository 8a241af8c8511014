"""The first sample: the files by which the analysis was made and measured while it grew."""

from surveyed.sample import Subject

# Where from, which file, what it needs if no run tells (None: the run decides), what to run ({file}; None: only load it).
AMD64 = [
    ("libc6", "**/libc.so.6", "v1", None, ""),
    ("libc6", "**/libm.so.6", "v1", None, ""),
    ("libc6", "**/ld-linux-x86-64.so.2", "v1", None, "every program of the distribution runs it"),
    ("libssl3", "**/libcrypto.so.3", "v1", None, ""),
    ("zlib1g", "**/libz.so.1.*", "v1", None, ""),
    ("libgmp10", "**/libgmp.so.10.*", "v1", None, ""),
    ("libllvm14", "**/libLLVM-14.so.1", "v1", None, ""),
    ("libsimdjson14", "**/libsimdjson.so.*", "v1", None, ""),
    ("python3.11-minimal", "usr/bin/python3.11", "v1", None, "policy of the distribution"),
    ("postgresql-15", "**/bin/postgres", "v1", None, "policy of the distribution; crc32 is chosen by cpuid"),
    ("libsodium23", "**/libsodium.so.23.*", "v1", "ctypes.CDLL('{file}').sodium_init()", ""),
    ("libnettle8", "**/libnettle.so.8.*", "v1", None, ""),
    ("libgcrypt20", "**/libgcrypt.so.20.*", "v1", "ctypes.CDLL('{file}').gcry_check_version(None)", ""),
    ("libdav1d6", "**/libdav1d.so.6.*", "v1", None, ""),
    ("libjpeg62-turbo", "**/libjpeg.so.62.*", "v1", None, ""),
    ("libzstd1", "**/libzstd.so.1.*", "v1", None, ""),
    ("liblzma5", "**/liblzma.so.5.*", "v1", None, ""),
    ("libpixman-1-0", "**/libpixman-1.so.0.*", "v1", None, ""),
    ("libx264-164", "**/libx264.so.164", "v1", None, ""),
    ("libvpx7", "**/libvpx.so.7.*.0", "v1", None, ""),
    ("libaom3", "**/libaom.so.3.*", "v1", None, ""),
    ("libblis4-pthread", "**/libblis.so.4", "v1", None, ""),
    ("libhyperscan5", "**/libhs.so.5.*", "v2", None, "on the v1 CPU hs_compile returns HS_ARCH_ERROR (tried under qemu)"),
    ("libisal2", "**/libisal.so.2.*", "v1", None, ""),
    ("libjxl0.7", "**/libjxl.so.0.7.*", "v1", None, ""),
    ("libhwy1", "**/libhwy.so.1.*", "v1", None, ""),
    ("libvolk2.5", "**/libvolk.so.2.5.*", "v1", None, ""),
    ("libbotan-2-19", "**/libbotan-2.so.*", "v1", None, ""),
    ("libcrypto++8", "**/libcrypto++.so.8.*", "v1", None, ""),
    ("libgnutls30", "**/libgnutls.so.30.*", "v1", None, ""),
]

WHEELS = [
    ("xxhash==4.1.0", "xxhash/_xxhash*.so", None, "import xxhash; xxhash.xxh3_64(b'a' * 5000)", ""),
    ("orjson==3.13.0", "orjson/*.so", None, "import orjson; orjson.loads(orjson.dumps(['a' * 99] * 9))", ""),
    ("blake3==1.0.11", "blake3/*.so", None, "import blake3; blake3.blake3(b'a' * 99999).hexdigest()", ""),
    ("pysimdjson==7.0.2", "csimdjson.*.so", None, "import simdjson; simdjson.Parser().parse(b'[1, 2]')", ""),
    ("rapidfuzz==3.14.6", "rapidfuzz/fuzz_cpp_avx2*.so", None, "import rapidfuzz.fuzz_cpp_avx2", ""),
    ("rapidfuzz==3.14.6", "rapidfuzz/distance/metrics_cpp_avx2*.so", None, "import rapidfuzz.distance.metrics_cpp_avx2", ""),
    ("rapidfuzz==3.14.6", "rapidfuzz/_feature_detector_cpp*.so", None, "import rapidfuzz; rapidfuzz.fuzz.ratio('ab', 'ac')", ""),
    ("pyroaring==1.2.0", "pyroaring*.so", None, "import pyroaring as p; len(p.BitMap(range(9000)) & p.BitMap(range(5, 90)))", ""),
    ("isal==1.9.1", "isal/isal_zlib*.so", None, "from isal import isal_zlib as z; z.decompress(z.compress(b'a' * 9999))", ""),
    ("cityhash==0.4.10", "cityhash.*.so", None, "import cityhash; cityhash.CityHash64(b'a' * 99)", ""),
    ("cityhash==0.4.10", "farmhash.*.so", None, "import farmhash", ""),
    ("crc32c==2.9.post0", "crc32c/*.so", None, "import crc32c; crc32c.crc32c(b'a' * 999)", ""),
    ("google-crc32c==1.9.0", "google_crc32c.libs/libcrc32c*", None, "import google_crc32c as g; g.value(b'a' * 999)", ""),
    ("hyperscan==0.9.1", "hyperscan/_hs_ext*.so", None, "import hyperscan as h; h.Database().compile(expressions=[b'foo.*bar'])", ""),
    ("simsimd==6.5.16", "simsimd*.so", None, "import simsimd", ""),
    ("zstandard==0.25.0", "zstandard/backend_c*.so", None, "import zstandard as z; z.decompress(z.compress(b'a' * 9999))", ""),
    ("lz4==4.4.5", "lz4/frame/_frame*.so", None, "import lz4.frame as z; z.decompress(z.compress(b'a' * 9999))", ""),
    ("cryptography==50.0.2", "**/_rust.abi3.so", None,
     "from cryptography.hazmat.primitives.ciphers.aead import AESGCM; AESGCM(b'a' * 16).encrypt(b'b' * 12, b'c' * 9999, None)", ""),
    ("pycryptodome==4.4.0", "Crypto/**/_ghash_clmul*.so", "v2", None, "exported functions use SSSE3 at once; Python code checks first"),
    ("pynacl==1.6.2", "nacl/_sodium*.so", None, "import nacl.hash; nacl.hash.blake2b(b'a' * 999)", ""),
    ("pillow==13.0.0", "PIL/_imaging.*.so", None, "from PIL import Image; Image.new('RGB', (99, 99)).resize((50, 50))", ""),
    ("pillow==13.0.0", "pillow.libs/libavif-*", None, None, ""),
    ("pillow==13.0.0", "pillow.libs/libwebp-*", None, None, ""),
    ("pillow==13.0.0", "pillow.libs/libzstd-*", None, None, ""),
    ("tiktoken==0.14.0", "tiktoken/*.so", None, "import tiktoken._tiktoken", ""),
    ("tokenizers==0.23.3", "tokenizers/*.so", None, "import tokenizers", ""),
    ("polars-runtime-32==2.1.0", "**/*.so", None, None, ""),
    ("lightgbm==4.7.0", "lightgbm/lib/*.so", None, None, ""),
    ("duckdb==2.0.0", "_duckdb*.so", None, "import duckdb; duckdb.sql('select 1').fetchall()", ""),
    ("scann==1.4.2", "scann/**/scann_pybind.so", None, None, ""),
    ("blosc2==4.14.1", "blosc2/lib/libblosc2.so", None, "ctypes.CDLL('{file}').blosc2_init()", ""),
    ("pyscf==2.14.0", "pyscf/lib/libnp_helper.so", "v2", None, "NPomp_d_itranspose_scale uses SSE3 and the file has no cpuid (read)"),
    ("numpy==2.4.6", "numpy/_core/_multiarray_umath*.so", None, "import numpy as n; n.ones((99, 99)) @ n.ones((99, 99))", ""),
    ("numpy==2.4.6", "numpy.libs/libscipy_openblas64_*", None, None, ""),
    ("opencv-python-headless==5.0.0.93", "opencv_python_headless.libs/libavutil-*", None, None, ""),
    ("opencv-python-headless==5.0.0.93", "opencv_python_headless.libs/libcrypto-*", None, None, ""),
    ("opencv-python-headless==5.0.0.93", "opencv_python_headless.libs/libgfortran-*", None, None, ""),
    ("opencv-python-headless==5.0.0.93", "opencv_python_headless.libs/libswscale-*", None, None, ""),
    ("onnxruntime==1.31.1", "onnxruntime/capi/libonnxruntime.so.*", None, None, ""),
    ("faiss-cpu==1.15.1", "faiss/libfaiss.so", "v2", None, "compiled with SSE4.1: faiss::Clustering::Clustering uses pinsrd without a check (read)"),
]

ARM64 = [
    ("deb", "libc6", "**/libc.so.6", "v8.0", "policy of the distribution; ifunc"),
    ("deb", "libssl3", "**/libcrypto.so.3", "v8.0", "policy of the distribution; OPENSSL_armcap_P"),
    ("deb", "libstdc++6", "**/libstdc++.so.6.*", "v8.0", "policy of the distribution; outlined atomics"),
    ("deb", "postgresql-15", "**/bin/postgres", "v8.0", "policy of the distribution; crc32 is chosen at run time"),
    ("deb", "libnode108", "**/libnode.so.108", "v8.0", "policy of the distribution"),
    ("deb", "ripgrep", "usr/bin/rg", "v8.0", "policy of the distribution; std_detect"),
    ("deb", "mariadb-server-core", "usr/sbin/mariadbd", "v8.0", "policy of the distribution; crc32 is chosen by getauxval"),
    ("wheel", "blake3==1.0.11", "blake3/*.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "crc32c==2.9.post0", "crc32c/*.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "google-crc32c==1.9.0", "google_crc32c.libs/libcrc32c*", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "cryptography==50.0.2", "**/_rust.abi3.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "orjson==3.13.0", "orjson/*.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "numpy==2.4.6", "numpy/_core/_multiarray_umath*.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "simsimd==6.5.16", "simsimd*.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
    ("wheel", "zstandard==0.25.0", "zstandard/backend_c*.so", "v8.0", "not verified: assumed, as for every aarch64 wheel"),
]


def subjects():
    numpy = ["numpy==2.4.6"]
    for package, pattern, stated, use, why in AMD64:
        yield Subject("x86_64", "deb", package, pattern, use=use, stated=stated, why=why)
    for spec, pattern, stated, use, why in WHEELS:
        yield Subject("x86_64", "wheel", spec, pattern, use=use, stated=stated, why=why, needs=numpy if "numpy" in (use or "") else [])
    for kind, spec, pattern, stated, why in ARM64:
        yield Subject("aarch64", kind, spec, pattern, stated=stated, why=why)


SUBJECTS = list(subjects())
