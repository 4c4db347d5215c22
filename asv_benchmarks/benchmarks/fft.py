"""DFT: complex along any axis and back, of real data one-sided and with all bins, and back."""

import numpy as np

from .common import Benchmark, complex_type, make_input


class FFT(Benchmark):
    workloads = {
        "one call of 64": ((1, 64), 1),
        "one call of 256": ((1, 256), 1),
        "one of 4096": ((1, 4096), 1),
        "one of 65536": ((1, 65536), 1),
        "4096 x 64": ((4096, 64), 1),
        "256 x 512": ((256, 512), 1),
        "64 x 4096": ((64, 4096), 1),
        "one of 2^20": ((1, 1 << 20), 1),
        "one of 2^22": ((1, 1 << 22), 1),
        "1000 x 400": ((1000, 400), 1),
        "128 x 1000": ((128, 1000), 1),
        "64 x 2187": ((64, 2187), 1),
        "2000 x 97, prime": ((2000, 97), 1),
        "64 x 1009, prime": ((64, 1009), 1),
        "512 x 512 along columns": ((512, 512), 0),
        "100 x 400 x 20 along the middle": ((100, 400, 20), 1),
        "1000 x 64 x 3 along the middle": ((1000, 64, 3), 1),
    }

    def case(self, dtype, shape, axis):
        z = make_input(shape, complex_type(dtype))
        return (lambda library: library.fft(z, axis)), np.fft.fft(z.astype(complex), axis=axis)


class IFFT(Benchmark):
    workloads = {"1000 x 400": ((1000, 400),), "256 x 512": ((256, 512),)}

    def case(self, dtype, shape):
        z = make_input(shape, complex_type(dtype))
        return (lambda library: library.ifft(z)), np.fft.ifft(z.astype(complex))


class RealToAll(Benchmark):
    workloads = IFFT.workloads

    def case(self, dtype, shape):
        x = make_input(shape, dtype)
        return (lambda library: library.full(x)), np.fft.fft(x.astype(float))


class RFFT(Benchmark):
    workloads = {
        "1000 x 400": ((1000, 400),),
        "64 x 4096": ((64, 4096),),
        "1000 x 441": ((1000, 441),),
        "one of 2^20": ((1, 1 << 20),),
    }

    def case(self, dtype, shape):
        x = make_input(shape, dtype)
        return (lambda library: library.rfft(x)), np.fft.rfft(x.astype(float))


class IRFFT(Benchmark):
    workloads = RFFT.workloads

    def case(self, dtype, shape):
        z = np.fft.rfft(make_input(shape, dtype)).astype(complex_type(dtype))
        return (lambda library: library.irfft(z, shape[1])), np.fft.irfft(z.astype(complex), shape[1])
