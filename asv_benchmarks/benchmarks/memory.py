"""Peak memory of a process that makes one call; the library itself and the arrays are part of it."""

import numpy as np

from fastspectral.cli.libraries import LIBRARIES, library

from .common import make_input


class Memory:
    params = list(LIBRARIES)
    param_names = ("library",)

    def setup(self, name):
        self.library = library(name)

    def peakmem_fft(self, name):
        """2^22 points, 32 MiB."""
        self.library.fft(make_input((1, 1 << 22), np.complex64), 1)()

    def peakmem_stft(self, name):
        """Five minutes of speech, 19 MiB, to 46 MiB of bins."""
        self.library.stft(make_input((1, 4_800_000), np.float32), 160, np.hanning(400).astype(np.float32))()

    def peakmem_conv_transpose(self, name):
        """8 MiB to 16 MiB."""
        x, w = make_input((1, 128, 128, 128), np.float32), make_input((128, 64, 2, 2), np.float32)
        self.library.conv_transpose(x, w, 2, 0, 1)()
