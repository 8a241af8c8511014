"""The fresh sample: released files that no document or test of the project names, chosen before deburr saw them, and frozen.

Only a check that fails here may lead to a change of the analysis, never a look at what would make one file right; a file that
has become a test's or a document's subject has to be replaced. Versions are those of the day on which it was chosen. Of PyPI and
npm they can be had indefinitely; of the distribution only until it releases the next one.
"""

from surveyed.sample import Subject

DEBIAN = "policy of the distribution"

LOADED = "ctypes.CDLL('{file}', mode=1)"  # RTLD_LAZY: an addon finds its program's symbols only in that program

SUBJECTS = [
    # Codecs, ciphers, compression and numeric libraries of Debian 12.
    Subject("x86_64", "deb", "libsvtav1enc1=1.4.1+dfsg-1", "**/libSvtAv1Enc.so.*", stated="v2",
            why="svt_aom_highbd_calc4x4var_sse2 uses phaddd of SSSE3, and what calls it is chosen for SSE2 (read)",
            use="l = ctypes.CDLL('{file}'); h = ctypes.c_void_p(); c = (ctypes.c_char * 65536)(); l.svt_av1_enc_init_handle(ctypes.byref(h), None, c)"),
    Subject("x86_64", "deb", "libopenh264-7=2.3.1+dfsg-3+deb12u2", "**/libopenh264.so.*",
            use="l = ctypes.CDLL('{file}'); e = ctypes.c_void_p(); assert l.WelsCreateSVCEncoder(ctypes.byref(e)) == 0; d = ctypes.c_void_p(); "
                "assert l.WelsCreateDecoder(ctypes.byref(d)) == 0"),
    Subject("x86_64", "deb", "libde265-0=1.0.11-1+deb12u3", "**/libde265.so.*",
            use="l = ctypes.CDLL('{file}'); l.de265_init(); l.de265_new_decoder.restype = ctypes.c_void_p; assert l.de265_new_decoder()"),
    Subject("x86_64", "deb", "libswresample4=7:5.1.9-0+deb12u1", "**/libswresample.so.*", 
            needs=["libavutil57", "libsoxr0", "libva-drm2", "libva-x11-2", "libva2", "libdrm2", "libvdpau1", "libx11-6", "libxext6", "libxfixes3", "libxcb1",
                   "libxau6", "libxdmcp6", "libbsd0", "libmd0", "libmfx1", "ocl-icd-libopencl1"]),
    Subject("x86_64", "deb", "libwolfssl35=5.5.4-2+deb12u3", "**/libwolfssl.so.*",
            use="l = ctypes.CDLL('{file}'); l.wolfSSL_Init(); o = (ctypes.c_char * 64)(); l.wolfSSL_SHA256(b'a' * 999, 999, o)"),
    Subject("x86_64", "deb", "libmbedcrypto7=2.28.3-1", "**/libmbedcrypto.so.*",
            use="l = ctypes.CDLL('{file}'); c = (ctypes.c_char * 4096)(); o = (ctypes.c_char * 16)(); l.mbedtls_aes_init(c); "
                "l.mbedtls_aes_setkey_enc(c, b'k' * 16, 128); l.mbedtls_aes_crypt_ecb(c, 1, b'a' * 16, o)"),
    Subject("x86_64", "deb", "libopus0=1.3.1-3", "**/libopus.so.*",
            use="l = ctypes.CDLL('{file}'); l.opus_encoder_create.restype = ctypes.c_void_p; e = l.opus_encoder_create(48000, 2, 2049, None); "
                "o = (ctypes.c_char * 4000)(); assert l.opus_encode(ctypes.c_void_p(e), b'abcd' * 960, 960, o, 4000) > 0"),
    Subject("x86_64", "deb", "libflac12=1.4.2+ds-2", "**/libFLAC.so.*", needs=["libogg0"],
            use="l = ctypes.CDLL('{file}'); l.FLAC__stream_encoder_new.restype = ctypes.c_void_p; e = ctypes.c_void_p(l.FLAC__stream_encoder_new()); "
                "assert l.FLAC__stream_encoder_init_file(e, b'/dev/null', None, None) == 0; "
                "l.FLAC__stream_encoder_process_interleaved(e, b'\\1\\0\\0\\0\\2\\0\\0\\0' * 9999, 9999); l.FLAC__stream_encoder_finish(e)"),
    Subject("x86_64", "deb", "libfftw3-single3=3.3.10-1", "**/libfftw3f.so.*",
            use="l = ctypes.CDLL('{file}'); b = (ctypes.c_float * 8192)(); l.fftwf_plan_dft_1d.restype = ctypes.c_void_p; "
                "p = ctypes.c_void_p(l.fftwf_plan_dft_1d(1024, b, b, -1, 64)); l.fftwf_execute(p)"),
    Subject("x86_64", "deb", "libmpg123-0=1.31.2-1+deb12u1", "**/libmpg123.so.*",
            use="l = ctypes.CDLL('{file}'); l.mpg123_init(); l.mpg123_new.restype = ctypes.c_void_p; assert l.mpg123_new(None, None)"),
    Subject("x86_64", "deb", "libopencv-imgproc406=4.6.0+dfsg-12", "**/libopencv_imgproc.so.*", stated="v1", why=DEBIAN),
    Subject("x86_64", "deb", "libzimg2=3.0.4+ds1-1", "**/libzimg.so.*",
            use="l = ctypes.CDLL('{file}'); a = (ctypes.c_char * 512)(); l.zimg_image_format_default(a, 514); print(l.zimg_get_api_version(None, None))"),
    Subject("x86_64", "deb", "libb2-1=0.98.1-1.1", "**/libb2.so.*",
            use="l = ctypes.CDLL('{file}'); o = (ctypes.c_char * 64)(); l.blake2b(o, b'a' * 999, None, 64, 999, 0); l.blake2sp(o, b'a' * 999, None, 32, 999, 0)"),
    Subject("x86_64", "deb", "b3sum=1.2.0-1+b4", "usr/bin/b3sum", run=["{file}", "{file}"]),
    Subject("x86_64", "deb", "liborc-0.4-0=1:0.4.33-2", "**/liborc-0.4.so.*", use="ctypes.CDLL('{file}').orc_init()"),
    Subject("x86_64", "deb", "mmseqs2=14-7e284+ds-1+b2", "usr/bin/mmseqs-avx2", stated="v3",
            why="compiled with -mavx2 as one of five (usr/bin/mmseqs of the package chooses)", needs=["libzstd1", "libgomp1", "libbz2-1.0"]),
    Subject("x86_64", "deb", "libxvidcore4=2:1.3.7-1", "**/libxvidcore.so.*",
            use="l = ctypes.CDLL('{file}'); g = (ctypes.c_uint * 64)(0x10300); assert l.xvid_global(None, 0, g, None) == 0"),
    Subject("aarch64", "deb", "libvpx7=1.12.0-1+deb12u5", "**/libvpx.so.*",
            use="l = ctypes.CDLL('{file}'); l.vpx_codec_vp9_cx.restype = ctypes.c_void_p; i = ctypes.c_void_p(l.vpx_codec_vp9_cx()); "
                "c = (ctypes.c_char * 4096)(); assert l.vpx_codec_enc_config_default(i, c, 0) == 0; x = (ctypes.c_char * 4096)(); "
                "g = ctypes.cast(c, ctypes.POINTER(ctypes.c_uint)); g[3] = g[4] = 64; print(l.vpx_codec_enc_init_ver(x, i, c, 0, 26))"),
    Subject("aarch64", "deb", "libsodium23=1.0.18-1+deb12u1", "**/libsodium.so.*", use="ctypes.CDLL('{file}').sodium_init()"),
    Subject("aarch64", "deb", "libopus0=1.3.1-3", "**/libopus.so.*",
            use="l = ctypes.CDLL('{file}'); l.opus_encoder_create.restype = ctypes.c_void_p; e = l.opus_encoder_create(48000, 2, 2049, None); "
                "o = (ctypes.c_char * 4000)(); assert l.opus_encode(ctypes.c_void_p(e), b'abcd' * 960, 960, o, 4000) > 0"),
    Subject("aarch64", "deb", "libisal2=2.30.0-5", "**/libisal.so.*",
            use="l = ctypes.CDLL('{file}'); l.crc32_iscsi(b'a' * 999, 999, 0); l.crc64_ecma_refl(ctypes.c_uint64(0), b'a' * 999, 999)"),
    Subject("aarch64", "deb", "libwolfssl35=5.5.4-2+deb12u3", "**/libwolfssl.so.*",
            use="l = ctypes.CDLL('{file}'); l.wolfSSL_Init(); o = (ctypes.c_char * 64)(); l.wolfSSL_SHA256(b'a' * 999, 999, o)"),
    Subject("aarch64", "deb", "libmpg123-0=1.31.2-1+deb12u1", "**/libmpg123.so.*",
            use="l = ctypes.CDLL('{file}'); l.mpg123_init(); l.mpg123_new.restype = ctypes.c_void_p; assert l.mpg123_new(None, None)"),
    Subject("aarch64", "deb", "libopenblas0-pthread=0.3.21+ds-4", "**/libopenblas*.so", needs=["libgfortran5", "libgcc-s1"],
            use="l = ctypes.CDLL('{file}'); l.cblas_ddot.restype = ctypes.c_double; d = (ctypes.c_double * 4096)(*[1.0] * 4096); l.cblas_ddot(64, d, 1, d, 1); "
                "l.cblas_dgemm(101, 111, 111, 64, 64, 64, ctypes.c_double(1), d, 64, d, 64, ctypes.c_double(0), d, 64)"),
    Subject("aarch64", "deb", "age=1.1.1-1+b3", "usr/bin/age", run=["{file}", "--version"]),
    Subject("aarch64", "deb", "libfftw3-single3=3.3.10-1", "**/libfftw3f.so.*",
            use="l = ctypes.CDLL('{file}'); b = (ctypes.c_float * 8192)(); l.fftwf_plan_dft_1d.restype = ctypes.c_void_p; "
                "p = ctypes.c_void_p(l.fftwf_plan_dft_1d(1024, b, b, -1, 64)); l.fftwf_execute(p)"),
    Subject("aarch64", "deb", "hexyl=0.8.0-2+b5", "usr/bin/hexyl", run=["{file}", "-n", "64", "{file}"]),

    # Wheels of PyPI.
    Subject("x86_64", "wheel", "scs==3.3.1", "scs/_scs_mkl*.so", needs=["numpy==2.4.6"], use="ctypes.CDLL('{file}', mode=1)"),
    Subject("x86_64", "wheel", "shapely==2.2.0", "shapely.libs/libgeos-*", needs=["numpy==2.4.6"],
            use="import shapely; shapely.Point(0, 0).buffer(1).union(shapely.Point(1, 1).buffer(1)).area"),
    Subject("x86_64", "wheel", "skia-python==144.1", "skia.*.so", needs=["numpy==2.4.6"],
            use="import skia; s = skia.Surface(64, 64); c = s.getCanvas(); c.clear(0xff); c.drawCircle(32, 32, 20, skia.Paint()); s.makeImageSnapshot()"),
    Subject("x86_64", "wheel", "grpcio==1.85.3", "grpc/_cython/cygrpc.*.so", needs=["typing-extensions==4.15.0"], use="import grpc; grpc.insecure_channel('localhost:1').close()"),
    Subject("x86_64", "wheel", "cramjam==2.14.0", "cramjam/*.so",
            use="import cramjam as c; [m.decompress(m.compress(b'ab' * 9999)) for m in (c.snappy, c.zstd, c.lz4, c.brotli, c.deflate)]"),
    Subject("x86_64", "wheel", "numcodecs==0.16.6", "numcodecs/blosc.*.so", needs=["numpy==2.4.6", "typing-extensions==4.15.0"],
            use="from numcodecs.blosc import Blosc; b = Blosc('lz4', 5, 2); b.decode(b.encode(b'abcd' * 9999))"),
    Subject("x86_64", "wheel", "pyarrow==26.0.1", "pyarrow/libarrow_compute.so.*", needs=["numpy==2.4.6"],
            use="import pyarrow as a, pyarrow.compute as c; c.sum(a.array(range(9999))); c.sort_indices(a.array([3, 1, 2] * 999))"),
    Subject("x86_64", "wheel", "ctranslate2==4.8.5", "ctranslate2.libs/libctranslate2-*", use=LOADED, stated="v2",
            why="compiled with SSE4.1: StorageView's constructor uses pextrd without a check (read)"),
    Subject("x86_64", "wheel", "imagecodecs==2026.3.6", "imagecodecs.libs/libjxl-*", needs=["numpy==2.4.6"],
            use="import numpy, imagecodecs as i; i.jpegxl_decode(i.jpegxl_encode(numpy.zeros((64, 64, 3), 'u1')))"),
    Subject("x86_64", "wheel", "awscrt==0.38.1", "_awscrt.abi3.so", use="import awscrt.checksums as c, awscrt.crypto as h; c.crc32c(b'a' * 9999); c.crc64nvme(b'a' * 9999)"),
    Subject("x86_64", "wheel", "sqlite-vec==0.1.9", "sqlite_vec/vec0.so", use=LOADED),
    Subject("x86_64", "wheel", "usearch==2.26.6", "usearch/compiled.*.so", stated="v1",
            why="cannot be loaded at all (undefined symbol nk_uses_dynamic_dispatch); compiled for v1 (read)"),
    Subject("x86_64", "wheel", "kuzu==0.11.3", "kuzu/_kuzu.*.so",
            use="import kuzu; c = kuzu.Connection(kuzu.Database(':memory:', buffer_pool_size=1 << 26, max_db_size=1 << 30)); c.execute('RETURN 1 + 1').get_next()"),
    Subject("x86_64", "wheel", "hdf5plugin==7.1.0", "hdf5plugin/plugins/libh5blosc2.so", use=LOADED),
    Subject("x86_64", "wheel", "tantivy==0.27.0", "tantivy/*.so",
            use="import tantivy as t; s = t.SchemaBuilder().add_text_field('a', stored=True).build(); i = t.Index(s); w = i.writer(15000000, 1); "
                "w.add_document(t.Document(a='x y')); w.commit(); i.reload(); i.searcher().search(i.parse_query('x', ['a']), 9)"),
    Subject("x86_64", "wheel", "rocksdict==0.3.29", "rocksdict/*.so", use="import tempfile, rocksdict as r; d = r.Rdict(tempfile.mkdtemp()); d['a'] = 'b'; d.flush(); d.close()"),
    Subject("x86_64", "wheel", "numexpr==2.14.2", "numexpr/interpreter.*.so", needs=["numpy==2.4.6"], use="import numpy, numexpr; a = numpy.ones(9999); numexpr.evaluate('a * 2 + sin(a)')"),
    Subject("aarch64", "wheel", "lightgbm==4.7.0", "lightgbm/lib/*.so", needs=["deb:libgomp1", "deb:libstdc++6", "deb:libgcc-s1"], use=LOADED),
    Subject("aarch64", "wheel", "opencv-python==5.0.0.93", "opencv_python.libs/libvpx-*", use=LOADED),
    Subject("aarch64", "wheel", "opencv-python==5.0.0.93", "opencv_python.libs/libavcodec-*", use=LOADED),
    Subject("aarch64", "wheel", "numcodecs==0.16.6", "numcodecs/blosc.*.so", needs=["numpy==2.4.6", "typing-extensions==4.15.0"],
            use="from numcodecs.blosc import Blosc; b = Blosc('lz4', 5, 2); b.decode(b.encode(b'abcd' * 9999))"),
    Subject("aarch64", "wheel", "ctranslate2==4.8.5", "ctranslate2.libs/libctranslate2-*", use=LOADED, needs=["deb:libstdc++6", "deb:libgcc-s1"]),
    Subject("aarch64", "wheel", "awscrt==0.38.1", "_awscrt.abi3.so", use="import awscrt.checksums as c; c.crc32c(b'a' * 9999); c.crc64nvme(b'a' * 9999)"),
    Subject("aarch64", "wheel", "grpcio==1.85.3", "grpc/_cython/cygrpc.*.so", needs=["typing-extensions==4.15.0", "deb:libstdc++6", "deb:libgcc-s1"],
            use="import grpc; grpc.insecure_channel('localhost:1').close()"),
    Subject("aarch64", "wheel", "pyarrow==26.0.1", "pyarrow/libarrow.so.*", needs=["numpy==2.4.6", "deb:libstdc++6", "deb:libgcc-s1"],
            use="import pyarrow as a; a.array(range(9999)).take(a.array([1, 2, 3]))"),
    Subject("aarch64", "wheel", "imagecodecs==2026.3.6", "imagecodecs.libs/libaom-*", needs=["numpy==2.4.6", "deb:libstdc++6", "deb:libgcc-s1"],
            use="import numpy, imagecodecs as i; i.avif_decode(i.avif_encode(numpy.zeros((64, 64, 3), 'u1')))"),
    Subject("aarch64", "wheel", "skia-python==144.1", "skia.*.so", use=LOADED,
            needs=["deb:libstdc++6", "deb:libgcc-s1", "deb:libegl1", "deb:libglvnd0", "deb:libgl1", "deb:libglx0", "deb:libx11-6", "deb:libxcb1",
                   "deb:libxau6", "deb:libxdmcp6", "deb:libbsd0", "deb:libmd0"]),
    Subject("aarch64", "wheel", "usearch==2.26.6", "usearch/compiled.*.so", stated="v8.0",
            why="cannot be loaded at all (undefined symbol); compiled for v8.0 with outlined atomics (read)"),
    Subject("aarch64", "wheel", "cramjam==2.14.0", "cramjam/*.so",
            use="import cramjam as c; [m.decompress(m.compress(b'ab' * 9999)) for m in (c.snappy, c.zstd, c.lz4, c.brotli, c.deflate)]"),
    Subject("aarch64", "wheel", "scipy==1.17.1", "scipy.libs/libscipy_openblas-*", use=LOADED),
    Subject("aarch64", "wheel", "hdf5plugin==7.1.0", "hdf5plugin/plugins/libh5blosc2.so", use=LOADED),
    Subject("aarch64", "wheel", "rocksdict==0.3.29", "rocksdict/*.so", use="import tempfile, rocksdict as r; d = r.Rdict(tempfile.mkdtemp()); d['a'] = 'b'; d.flush(); d.close()",
            needs=["deb:libstdc++6", "deb:libgcc-s1"]),
    Subject("aarch64", "wheel", "deflate==0.9.0", "deflate/*.so", use="import deflate as d; d.gzip_decompress(d.gzip_compress(b'ab' * 9999)); d.crc32(b'a' * 9999)"),

    # Addons and programs of npm.
    Subject("x86_64", "npm", "@img/sharp-libvips-linux-x64@1.3.4", "package/lib/libvips-cpp.so.*", use="ctypes.CDLL('{file}').vips_init(b'a')"),
    Subject("x86_64", "npm", "@esbuild/linux-x64@0.28.2", "package/bin/esbuild", run=["{file}", "--version"]),
    Subject("x86_64", "npm", "@swc/core-linux-x64-gnu@1.16.22", "package/*.node", use=LOADED),
    Subject("x86_64", "npm", "@node-rs/argon2-linux-x64-gnu@2.2.1", "package/*.node", use=LOADED),
    Subject("x86_64", "npm", "@lmdb/lmdb-linux-x64@3.5.6", "package/node.napi.glibc.node", use=LOADED),
    Subject("x86_64", "npm", "classic-level@3.0.0", "package/prebuilds/linux-x64/classic-level.node", use=LOADED),
    Subject("x86_64", "npm", "sodium-native@5.1.0", "package/prebuilds/linux-x64/sodium-native.node", use=LOADED),
    Subject("x86_64", "npm", "@oven/bun-linux-x64-baseline@1.4.5", "package/bin/bun", run=["{file}", "-e", "console.log(1)"]),
    Subject("x86_64", "npm", "@node-llama-cpp/linux-x64@3.22.1", "package/bins/linux-x64/libggml-cpu-haswell.so", stated="v3",
            why="compiled for Haswell: the loader of ggml chooses among 14 (its name says so)"),
    Subject("aarch64", "npm", "@img/sharp-libvips-linux-arm64@1.3.4", "package/lib/libvips-cpp.so.*", use="ctypes.CDLL('{file}').vips_init(b'a')"),
    Subject("aarch64", "npm", "@typescript/native-preview-linux-arm64@7.0.0-dev.20260707.2", "package/lib/tsgo", run=["{file}", "--version"]),
    Subject("aarch64", "npm", "lightningcss-linux-arm64-gnu@1.33.0", "package/*.node", use=LOADED),
    Subject("aarch64", "npm", "@node-rs/crc32-linux-arm64-gnu@1.10.8", "package/*.node", use=LOADED),
    Subject("aarch64", "npm", "@napi-rs/canvas-linux-arm64-gnu@1.1.1", "package/*.node", use=LOADED),
    Subject("aarch64", "npm", "@node-llama-cpp/linux-arm64@3.22.1", "package/bins/linux-arm64/libggml-cpu-armv8.2_1.so", stated="v8.4",
            why="compiled for Armv8.2 with dot products, which every CPU has from Armv8.4 on; the loader of ggml chooses among 8 (its name says so)"),
]
