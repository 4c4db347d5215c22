"""The caches of plans: each holds the latest so many, and all are emptied where their tables take too much memory."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

# Bytes.  A line of a million points whose length has a large prime takes 50 MB: a thousand files of such, each of another length, took all memory.
MOST_BYTES = 1 << 30
LEAST_PLANS = 8  # as large as the one that is made, which a program that uses several in turn needs at once

F = TypeVar("F", bound=Callable[..., Any])


class _Tables:
    made = 0  # bytes of all tables since the caches were emptied, those of plans included that they no longer hold


_caches: list[Any] = []


def plan_cache(maxsize: int) -> Callable[[F], F]:
    """Keep the latest `maxsize` results of a function, which are plans or refer to some."""

    def decorate(function: F) -> F:
        cached: Any = lru_cache(maxsize)(function)
        _caches.append(cached)
        return cached  # type: ignore[no-any-return]

    return decorate


def note_tables(size: int) -> None:
    """Tell that tables of so many bytes are made.  A plan in use holds its own, whatever becomes of the caches."""
    if _Tables.made + size > max(MOST_BYTES, LEAST_PLANS * size):
        for cached in _caches:
            cached.cache_clear()
        _Tables.made = 0
    _Tables.made += size
