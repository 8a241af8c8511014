from ._sums import dot, level

__all__ = ["dot", "level"]
