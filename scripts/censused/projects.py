"""The projects that `census levels` builds twice: small ones in C and C++ that most machines have, with their own build systems."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Project:
    source: str  # Debian's source package
    system: str  # a function of build.py
    products: tuple  # patterns of what is compared, in the build's folder
    options: tuple = ()
    folder: str = "."  # of the build's description, in the sources


def library(source, stem, system="cmake", options=(), folder="."):
    return Project(source, system, (f"**/lib{stem}.so*",), options, folder)


PROJECTS = [
    library("brotli", "brotli*"),
    library("bzip2", "bz2", "make", ("-f", "Makefile-libbz2_so")),
    library("c-ares", "cares", options=("-DCARES_BUILD_TOOLS=OFF",)),
    library("cjson", "cjson", options=("-DENABLE_CJSON_TEST=OFF", "-DENABLE_CUSTOM_COMPILER_FLAGS=OFF")),
    library("double-conversion", "double-conversion"),
    library("expat", "expat", folder="expat", options=("-DEXPAT_BUILD_TESTS=OFF", "-DEXPAT_BUILD_EXAMPLES=OFF")),
    library("flac", "FLAC*", options=("-DBUILD_TESTING=OFF", "-DBUILD_EXAMPLES=OFF", "-DWITH_OGG=OFF", "-DINSTALL_MANPAGES=OFF")),
    library("fmtlib", "fmt", options=("-DFMT_TEST=OFF", "-DFMT_DOC=OFF")),
    library("freetype", "freetype", options=("-DFT_DISABLE_HARFBUZZ=ON", "-DFT_DISABLE_BROTLI=ON", "-DFT_DISABLE_PNG=ON", "-DFT_DISABLE_BZIP2=ON")),
    library("jansson", "jansson", options=("-DJANSSON_BUILD_SHARED_LIBS=ON", "-DJANSSON_BUILD_DOCS=OFF", "-DJANSSON_WITHOUT_TESTS=ON", "-DJANSSON_EXAMPLES=OFF")),
    library("json-c", "json-c", options=("-DBUILD_TESTING=OFF", "-DDISABLE_WERROR=ON")),
    library("lame", "mp3lame", "configure", ("--disable-static", "--disable-frontend")),
    library("libdeflate", "deflate", "make", ("libdeflate.so.0",)),
    library("libevent", "event*", options=("-DEVENT__LIBRARY_TYPE=SHARED", "-DEVENT__DISABLE_TESTS=ON", "-DEVENT__DISABLE_SAMPLES=ON",
                                          "-DEVENT__DISABLE_BENCHMARK=ON", "-DEVENT__DISABLE_OPENSSL=ON", "-DEVENT__DISABLE_MBEDTLS=ON")),
    library("libjpeg-turbo", "*jpeg", options=("-DENABLE_STATIC=OFF",)),
    library("libogg", "ogg", options=("-DBUILD_TESTING=OFF",)),
    library("libpng1.6", "png16", options=("-DPNG_TESTS=OFF", "-DPNG_STATIC=OFF")),
    library("libsamplerate", "samplerate", options=("-DBUILD_TESTING=OFF", "-DLIBSAMPLERATE_EXAMPLES=OFF")),
    library("libsoxr", "soxr", options=("-DBUILD_TESTS=OFF", "-DBUILD_EXAMPLES=OFF")),
    library("libuv1", "uv", options=("-DBUILD_TESTING=OFF", "-DLIBUV_BUILD_TESTS=OFF")),
    library("libwebp", "*webp*", options=("-DWEBP_BUILD_EXTRAS=OFF", "-DWEBP_BUILD_VWEBP=OFF")),
    library("libxml2", "xml2", options=("-DLIBXML2_WITH_PYTHON=OFF", "-DLIBXML2_WITH_LZMA=OFF", "-DLIBXML2_WITH_ICU=OFF", "-DLIBXML2_WITH_TESTS=OFF",
                                       "-DLIBXML2_WITH_PROGRAMS=OFF", "-DLIBXML2_WITH_ZLIB=OFF")),
    library("libyaml", "yaml", options=("-DBUILD_TESTING=OFF",)),
    Project("lua5.4", "make", ("src/lua",), ("linux",)),
    library("lz4", "lz4", folder="build/cmake"),
    library("mbedtls", "mbed*", options=("-DUSE_SHARED_MBEDTLS_LIBRARY=ON", "-DUSE_STATIC_MBEDTLS_LIBRARY=OFF", "-DENABLE_TESTING=OFF", "-DENABLE_PROGRAMS=OFF")),
    library("mimalloc", "mimalloc", options=("-DMI_BUILD_TESTS=OFF", "-DMI_BUILD_STATIC=OFF", "-DMI_BUILD_OBJECT=OFF")),
    library("openjpeg2", "openjp2", options=("-DBUILD_CODEC=OFF", "-DBUILD_TESTING=OFF")),
    library("pugixml", "pugixml"),
    library("tinyxml2", "tinyxml2", options=("-DBUILD_TESTING=OFF",)),
    library("xxhash", "xxhash", folder="cmake_unofficial"),
    library("xz-utils", "lzma", options=("-DBUILD_TESTING=OFF",)),
    library("zlib", "z", "configure"),
    library("zopfli", "zopfli*"),
    library("libzstd", "zstd", folder="build/cmake", options=("-DZSTD_BUILD_TESTS=OFF", "-DZSTD_BUILD_PROGRAMS=OFF", "-DZSTD_BUILD_STATIC=OFF")),
]
