"""Memory that shows who touches what: poison where nothing was written yet, canaries around."""

import numpy as np

LINE = 64
GUARD = 512  # bytes on either side, more than the widest register
CANARY, POISON = 0xA5, 0xFF  # in every byte; all ones are NaN in the four formats


class Between:
    """So many poisoned bytes between canaries, which begin right behind them; the first one is `start` bytes behind the begin of a cache line."""

    def __init__(self, size, start=0):
        self._memory = np.full(size + 2 * GUARD + LINE, CANARY, np.uint8)
        self._begin = GUARD + (start - GUARD - self._memory.ctypes.data) % LINE
        self.middle = self._memory[self._begin : self._begin + size]
        self.middle[...] = POISON

    def intact(self):
        """Whether nobody wrote to the canaries."""
        around = self._memory[: self._begin], self._memory[self._begin + self.middle.size :]
        return all(bool((canaries == CANARY).all()) for canaries in around)


def amid_poison(array):
    """Copy of an array in the middle of NaN, which whoever reads beyond it gets."""
    memory = np.full(array.nbytes + 2 * GUARD, POISON, np.uint8)
    copy = memory[GUARD : GUARD + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class GuardedNumPy:
    """NumPy to a module of the package, but what `empty` gives is poisoned and lies between canaries.

    Attributes
    ----------
    start : int
        Where in a cache line it begins.  Kernels go to the next cache line by themselves, and ask for the memory to be able to: with all starts, all of it is
        used.  Margins of whole registers behind each buffer are left over with any.
    """

    def __init__(self):
        self.start = 0
        self.memories = []

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype=float):
        count = np.empty(shape, dtype).size  # raises what it raises
        self.memories.append(Between(count * np.dtype(dtype).itemsize, self.start))
        return self.memories[-1].middle.view(dtype).reshape(shape)

    def check(self):
        """Fail if a canary is not what it was, and forget all memory."""
        assert all(memory.intact() for memory in self.memories)
        self.memories.clear()
