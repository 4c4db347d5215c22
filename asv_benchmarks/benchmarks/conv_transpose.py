"""ConvTranspose: layers of vocoders, generators, segmenters and upsamplers."""

import numpy as np

from .common import Benchmark, make_input


def conv_transpose(x, w, stride, pad, group):
    """ConvTranspose by its definition, one tap after the other."""
    sizes, taps = x.shape[2:], w.shape[2:]
    grouped_x = x.reshape(x.shape[0], group, -1, *sizes)
    grouped_w = w.reshape(group, -1, *w.shape[1:])
    full = [stride * (size - 1) + tap for size, tap in zip(sizes, taps, strict=True)]
    y = np.zeros((x.shape[0], group, w.shape[1], *full))
    for tap in np.ndindex(*taps):
        reached = tuple(
            slice(start, start + stride * (size - 1) + 1, stride) for start, size in zip(tap, sizes, strict=True)
        )
        y[(..., *reached)] += np.einsum("ngc...,gcm->ngm...", grouped_x, grouped_w[(..., *tap)])
    kept = tuple(slice(pad, size - pad) for size in full)
    return y[(..., *kept)].reshape(x.shape[0], -1, *(size - 2 * pad for size in full))


class ConvTranspose(Benchmark):
    workloads = {
        "vocoder, 16 taps, stride 8": ((1, 512, 100), (512, 256, 16), 8, 4, 1),
        "vocoder, second, 16 taps, stride 8": ((1, 256, 800), (256, 128, 16), 8, 4, 1),
        "vocoder, third, 4 taps, stride 2": ((1, 128, 6400), (128, 64, 4), 2, 1, 1),
        "vocoder, 4 taps, stride 2": ((1, 64, 12800), (64, 32, 4), 2, 1, 1),
        "generator, maps of 4 x 4": ((16, 512, 4, 4), (512, 256, 4, 4), 2, 1, 1),
        "generator, maps of 8 x 8": ((16, 256, 8, 8), (256, 128, 4, 4), 2, 1, 1),
        "generator, 4 x 4 taps, stride 2": ((16, 128, 16, 16), (128, 64, 4, 4), 2, 1, 1),
        "generator, three output channels": ((16, 64, 32, 32), (64, 3, 4, 4), 2, 1, 1),
        "U-Net, maps of 32 x 32": ((1, 512, 32, 32), (512, 256, 2, 2), 2, 0, 1),
        "U-Net, 2 x 2 taps, stride 2": ((1, 128, 128, 128), (128, 64, 2, 2), 2, 0, 1),
        "mask head": ((1, 256, 64, 64), (256, 64, 2, 2), 2, 0, 1),
        "text detector, one output channel": ((1, 24, 320, 320), (24, 1, 2, 2), 2, 0, 1),
        "3 x 3 taps, stride 1": ((1, 64, 64, 64), (64, 64, 3, 3), 1, 1, 1),
        "3 x 3 taps, stride 2": ((1, 64, 56, 56), (64, 64, 3, 3), 2, 1, 1),
        "bilinear, stride 32": ((1, 21, 16, 16), (21, 1, 64, 64), 32, 16, 21),
        "depthwise, 4 x 4 taps, stride 2": ((1, 256, 32, 32), (256, 1, 4, 4), 2, 1, 256),
        "four groups": ((4, 64, 28, 28), (64, 16, 3, 3), 2, 1, 4),
        "inverse STFT": ((1, 514, 400), (514, 1, 512), 128, 0, 1),
        "volume, 2 x 2 x 2 taps, stride 2": ((1, 64, 16, 16, 16), (64, 32, 2, 2, 2), 2, 0, 1),
        "volume, 4 x 4 x 4 taps, stride 2": ((1, 32, 16, 16, 16), (32, 16, 4, 4, 4), 2, 1, 1),
        "tiny": ((1, 8, 8, 8), (8, 8, 3, 3), 2, 1, 1),
    }
    dtypes = ("float32",)

    def case(self, dtype, shape, kernel, stride, pad, group):
        x, w = make_input(shape, dtype), make_input(kernel, dtype)
        exact = conv_transpose(x.astype(float), w.astype(float), stride, pad, group)
        return (lambda library: self.prepare(library)(x, w, stride, pad, group)), exact

    def prepare(self, library):
        return library.conv_transpose


class PackedConvTranspose(ConvTranspose):
    """The same with weights that are known before, as a session holds them."""

    def prepare(self, library):
        return library.packed_conv_transpose
