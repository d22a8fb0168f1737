"""Arrays as people have them (lists, numpy, torch, pandas, anything with __array__) as arrays of the
exact type that the module wants; without a copy where they have it already."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from ._core import Error

ArrayLike = Any
Value = Union[str, int, float, bool]


def _array(values: ArrayLike, name: str) -> np.ndarray:
    if hasattr(values, "detach"):  # a tensor, which may have a gradient
        values = values.detach().cpu()
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise Error(f"{name} is no array: {error}") from error


def _is_column(values: ArrayLike, dtype: type) -> bool:
    """What most calls have: checks of anything else would take longer than to sample for it."""
    return (type(values) is np.ndarray and values.ndim == 1 and values.size > 1
            and values.dtype == dtype and values.flags.c_contiguous)


def is_integer(values: ArrayLike, name: str) -> bool:
    array = _array(values, name)
    return array.size == 0 or array.dtype.kind in "iu"


def nodes(values: ArrayLike, name: str) -> np.ndarray:
    """Numbers of nodes: int64, one dimension (a single number becomes an array)."""
    if _is_column(values, np.int64):
        return values
    array = np.atleast_1d(_array(values, name))
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise Error(f"{name} has type {array.dtype}: nodes are whole numbers")
    if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise Error(f"{name} has numbers above 2^63")
    return np.ascontiguousarray(array, dtype=np.int64)


def times(values: ArrayLike, name: str = "time", size: int | None = None) -> np.ndarray:
    """float64, one dimension; a single time stands for `size` of them. Dates are seconds since 1970."""
    if _is_column(values, np.float64):
        return values
    array = np.atleast_1d(_array(values, name))
    if array.dtype.kind == "M":
        array = array.astype("datetime64[ns]").astype(np.int64) / 1e9
    if array.dtype.kind not in "iuf":
        raise Error(f"{name} has type {array.dtype}: times are numbers")
    if size is not None and array.shape == (1,):
        array = np.repeat(array, size)
    return np.ascontiguousarray(array, dtype=np.float64)


def floats(values: ArrayLike, name: str) -> np.ndarray:
    array = _array(values, name)
    if array.dtype.kind not in "iufb":
        raise Error(f"{name} has type {array.dtype}: numbers are needed")
    return np.ascontiguousarray(array, dtype=np.float32)


def names(values: ArrayLike, name: str) -> list[str]:
    """Nodes by their names in the data: 5 and "5" are one name."""
    array = np.atleast_1d(_array(values, name))
    if array.ndim != 1:
        raise Error(f"{name} has {array.ndim} dimensions instead of one")
    if array.dtype.kind == "f":
        raise Error(f"{name} has type {array.dtype}: ids are whole numbers or texts")
    return [str(value) for value in array.tolist()]


def scores(values: Any, count: int) -> np.ndarray:
    """What a scorer returned for `count` pairs: [n] or [n,Q], finite."""
    array = floats(values, "the scores")
    if array.ndim not in (1, 2) or array.shape[0] != count:
        raise Error(f"the scorer returned shape {list(array.shape)} for {count} pairs")
    if not np.isfinite(array).all():
        raise Error("a score is not a finite number")
    return array


def options(given: dict[str, Value | None]) -> dict[str, str]:
    """Options as the command line has them: learning_rate=1e-3 is --learning-rate 0.001."""
    return {name.replace("_", "-"): _text(name, value)
            for name, value in given.items() if value is not None}


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float, np.integer, np.floating)):
        return str(value)
    raise Error(f"{name} is {type(value).__name__}: options are texts, numbers or switches")
