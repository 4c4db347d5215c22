"""Numba's options and its disk cache, in one place.

No option may depend on the environment: Numba's cache does not see it and would hand out code built with other options (numba#6845).

The disk cache is keyed by the package's sources. Numba itself only looks at the file of the function that it compiles, so an edited codelet would go on
running from the cache of the pass that uses it. A cache that cannot be read or written is a miss and nothing else.
"""

import functools
import hashlib
import importlib.resources
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, overload

import numba
from numba import prange
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache
from numba.core.ccallback import CFunc

__all__ = ["compiled_address", "entry_of", "njit", "prange"]

# nogil: kernels touch no Python object. error_model: a division by zero gives inf, as in NumPy, instead of a branch to an exception.
# fastmath stays off: lanes.py allows fusing a product and a sum for each instruction by itself; re-association is never allowed.
OPTIONS = {"nogil": True, "error_model": "numpy"}


def sources(folder: Any) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the sources in a folder of the package, which may be in an archive."""
    for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        if entry.name != "__pycache__" and entry.is_dir():
            yield from sources(entry)
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_bytes()


@functools.cache
def source_digest() -> str:
    """Hash of all the sources of the package."""
    digest = hashlib.sha256()
    for name, content in sources(importlib.resources.files("fastspectral")):
        digest.update(name.encode())
        digest.update(content)
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
    """Numba's cache of one function's machine code, stamped with the digest of the whole package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = KeyedCacheFiles(self._cache_path, self._impl.filename_base, source_digest())


def _require_folder(locator: Any) -> None:
    """Ask less of a folder than Numba, which takes only those that it can write in."""
    if not Path(locator.get_cache_path()).is_dir():
        raise FileNotFoundError


class ReadOnlyImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's search for a folder, which ends at the first that exists."""

    _locator_classes: ClassVar = [
        type(locator.__name__, (locator,), {"ensure_cache_path": _require_folder})
        for locator in CompileResultCacheImpl._locator_classes
    ]


class ReadOnlyCache(SourceKeyedCache):
    """A cache that another user has filled, or an image of a container that is read-only now; nothing is saved there."""

    _impl_class = ReadOnlyImpl


class HarmlessCache(NullCache):  # type: ignore[misc]
    """The cache of a kernel, for which every failure is a miss.

    What the folder that can be written lacks is looked for in a folder that comes before it and can only be read.

    It looks for its folder when it is first used: Numba tries to write there, which for all kernels took a fifth of the package's import.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @functools.cached_property
    def _cache(self) -> Any:
        return self._found(SourceKeyedCache)

    @functools.cached_property
    def _read_only(self) -> Any:
        found = self._found(ReadOnlyCache)
        return NullCache() if found.cache_path == self.cache_path else found

    def _found(self, kind: Callable[..., Any]) -> Any:
        try:
            return kind(self._function)
        except (OSError, RuntimeError):  # RuntimeError: Numba found no such folder
            return NullCache()

    @property
    def cache_path(self) -> Any:
        """Folder of the cache, None where none can be written."""
        return self._cache.cache_path

    @property
    def read_only_path(self) -> Any:
        """Folder that is read as well but cannot be written, None where there is none."""
        return self._read_only.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled result for the signature, or None."""
        for name in ("_cache", "_read_only"):
            try:
                result = getattr(self, name).load_overload(sig, target_context)
            except Exception:  # a truncated, emptied or foreign file fails in any way that unpickling can
                continue
            if result is not None:
                return result
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Store the compiled result, where that is possible."""
        try:
            self._cache.save_overload(sig, cres)
        except OSError:  # nothing writable: compile again next time
            self._cache.disable()


COMPILED_ONLY = "computes in compiled code only, which NUMBA_DISABLE_JIT forbids: unset it"


def refuse() -> NoReturn:
    """Raise: kernels are about registers and addresses, which Python has not; the tests run the codelets on NumPy arrays instead."""
    raise RuntimeError(f"fastspectral {COMPILED_ONLY}")


F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    @overload
    def njit(function: F) -> F: ...
    @overload
    def njit(*, parallel: bool = ..., inner: bool = ...) -> Callable[[F], F]: ...


def njit(function: Any = None, *, parallel: bool = False, inner: bool = False) -> Any:
    """Compile a kernel with the project's options.

    parallel: whether it may use `prange`; inner: whether only kernels call it, which saves the compiling of what Python and C would call it by, 0.06 s.
    """
    if function is None:
        return functools.partial(njit, parallel=parallel, inner=inner)
    if numba.config.DISABLE_JIT:
        return functools.update_wrapper(lambda *_: refuse(), function)
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True} if inner else {}
    dispatcher = numba.njit(parallel=parallel, **OPTIONS, **wrappers)(function)
    dispatcher._cache = HarmlessCache(function)
    return dispatcher


_callbacks: dict[tuple[Callable[..., Any], Any], tuple[CFunc, int]] = {}


def compiled_address(function: Callable[..., None], *types: Any) -> int:
    """Address of `function` compiled for the argument types, as a C function that returns nothing.

    Compiles on the first request only. The code lives as long as the process.
    """
    key = (function, types)
    known = _callbacks.get(key)
    if known is None:
        if numba.config.DISABLE_JIT:
            refuse()
        callback: Any = CFunc(function, (types, numba.types.void), {}, dict(OPTIONS))
        callback._cache = HarmlessCache(function)
        callback.compile()
        address = callback.address
        assert address is not None
        # of two threads that compile the same, one wins for good
        known = _callbacks.setdefault(key, (callback, address))
    return known[1]


def entry_of(function: Any, *arguments: Any) -> Callable[..., Any]:
    """The compiled function itself for arguments of these types: a call of it saves Numba's look at every argument, 0.35 us, and may bring no other types."""
    if numba.config.DISABLE_JIT:
        refuse()
    entry: Callable[..., Any] = function.compile(tuple(numba.typeof(argument) for argument in arguments))
    return entry
