"""A module with one loop, which compilers vectorise by level."""

from setuptools import Extension, setup

flags = ["-O3", "-ffast-math"]
setup(packages=["sums"], ext_modules=[Extension("sums._sums", ["sums/_sums.c"], extra_compile_args=flags)])
