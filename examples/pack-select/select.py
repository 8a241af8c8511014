"""Opens the variant of a library that runs best on this CPU.

`deburr pack selector` writes libdeburr-select.so.0, `deburr pack assemble` the variants.
"""

import ctypes
import importlib.machinery
import importlib.util
import os

NO_TABLE = -1


def select(library, selector="libdeburr-select.so.0"):
    """The path of the variant to open; `library` itself where it has no variants."""
    found = ctypes.CDLL(selector)
    found.deburr_select.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    found.deburr_select_message.restype = ctypes.c_char_p
    path = ctypes.create_string_buffer(4096)
    result = found.deburr_select(os.fsencode(library), path, len(path))
    if result == NO_TABLE:
        return os.fspath(library)
    if result < 0:
        raise ImportError(f"{library}: {found.deburr_select_message(result).decode()}")
    return os.fsdecode(path.value)


def module(name, library, selector="libdeburr-select.so.0"):
    """An extension module, imported from its best variant."""
    path = select(library, selector)
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    imported = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
    loader.exec_module(imported)
    return imported
