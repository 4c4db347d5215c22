"""Numba's options and its disk cache, in one place.

No option may depend on the environment: Numba's cache does not see it and would hand out code built with other options (numba#6845).

The disk cache is keyed by the package's sources. Numba itself only looks at the file of the function that it compiles, so an edited codelet would go on
running from the cache of the pass that uses it. A cache that cannot be read or written is a miss and nothing else.
"""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numba
from numba import prange
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.ccallback import CFunc

__all__ = ["compiled_address", "entry_of", "njit", "prange"]

# nogil: kernels touch no Python object. error_model: a division by zero gives inf, as in NumPy, instead of a branch to an exception.
# fastmath stays off: lanes.py allows fusing a product and a sum for each instruction by itself; re-association is never allowed.
OPTIONS = {"nogil": True, "error_model": "numpy"}


@functools.cache
def source_digest() -> str:
    """Hash of all the sources of the package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class KeyedCacheFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The cache files of one function, each named by what it holds.

    Numba numbers them and keeps an index.  Of two processes that save at a time both may take one number, and the index of the one then stands beside the
    machine code of the other, which runs as if it were the function asked for; or one index forgets what the other had.  Without an index neither can be.
    """

    def load(self, key: Any) -> Any:
        """Give what was saved under the key, or None."""
        try:
            return self._load_data(self._data_name(key))
        except FileNotFoundError:
            return None

    def save(self, key: Any, data: Any) -> None:
        """Save the data of the key."""
        self._save_data(self._data_name(key), data)

    def flush(self) -> None:
        """Nothing: a file that cannot be read is replaced when its function has been compiled."""

    def _data_name(self, key: Any) -> str:
        content = repr((self._version, self._source_stamp, key))
        return f"{self._index_name.removesuffix('nbi')}{hashlib.sha256(content.encode()).hexdigest()[:24]}.nbc"


class SourceKeyedCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function's machine code, stamped with the digest of the whole package, for which every failure is a miss."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = KeyedCacheFiles(self._cache_path, self._impl.filename_base, source_digest())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled result for the signature, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a truncated, emptied or foreign file fails in any way that unpickling can
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled result, where that is possible."""
        try:
            super().save_overload(sig, data)
        except OSError:  # nothing writable: compile again next time
            self.disable()


def _attach_cache(compiler: Any, function: Callable[..., Any]) -> None:
    """Give a dispatcher or C callback its disk cache, unless no folder for it can be found."""
    try:
        compiler._cache = SourceKeyedCache(function)
    except (OSError, RuntimeError):  # RuntimeError: Numba found no writable folder
        return


F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    @overload
    def njit(function: F) -> F: ...
    @overload
    def njit(*, parallel: bool = ...) -> Callable[[F], F]: ...


def njit(function: Any = None, *, parallel: bool = False) -> Any:
    """Compile a kernel with the project's options; `parallel` allows `prange`."""
    if function is None:
        return functools.partial(njit, parallel=parallel)
    dispatcher = numba.njit(parallel=parallel, **OPTIONS)(function)
    _attach_cache(dispatcher, function)
    return dispatcher


_callbacks: dict[tuple[Callable[..., Any], Any], tuple[CFunc, int]] = {}


def compiled_address(function: Callable[..., None], *types: Any) -> int:
    """Address of `function` compiled for the argument types, as a C function that returns nothing.

    Compiles on the first request only. The code lives as long as the process.
    """
    key = (function, types)
    known = _callbacks.get(key)
    if known is None:
        callback = CFunc(function, (types, numba.types.void), {}, dict(OPTIONS))
        _attach_cache(callback, function)
        callback.compile()
        address = callback.address
        assert address is not None
        # of two threads that compile the same, one wins for good
        known = _callbacks.setdefault(key, (callback, address))
    return known[1]


def entry_of(function: Any, *arguments: Any) -> Callable[..., Any]:
    """The compiled function itself for arguments of these types: a call of it saves Numba's look at every argument, 0.35 us, and may bring no other types."""
    entry: Callable[..., Any] = function.compile(tuple(numba.typeof(argument) for argument in arguments))
    return entry
