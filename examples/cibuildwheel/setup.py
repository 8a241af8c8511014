from setuptools import Extension, setup

setup(ext_modules=[Extension("windowed", ["windowed.c"])], py_modules=[])
