"""A picture four times as large by transposed convolution, with kernels from the textbook and with a learned one.

    python examples/upsample_image.py [picture.png]

Each kernel is the weight of a ConvTranspose of stride 4, as in networks for super-resolution, one group for each colour.  The learned one is the
least-squares solution on the parts of the photograph that are not shown.  Prints the peak signal-to-noise ratios on the part that is.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data

import fastspectral

SCALE = 4
REACH = 3  # pixels of the small picture on each side of one, that the learned kernel sees
SHOWN = (slice(96, 280), slice(164, 348))  # the face


def photograph():
    """Portrait of Grace Hopper, (3, height, width), values between 0 and 1; Matplotlib brings it along."""
    with get_sample_data("grace_hopper.jpg") as file:
        return plt.imread(file, format="jpg").astype(np.float32).transpose(2, 0, 1) / 255


def shrink(image):
    """Mean of each square of SCALE x SCALE pixels."""
    colours, height, width = image.shape
    return image.reshape(colours, height // SCALE, SCALE, width // SCALE, SCALE).mean(axis=(2, 4))


def enlarge(image, kernel):
    """Transposed convolution of each colour with the kernel; the edges are continued."""
    padded = np.pad(image, ((0, 0), (REACH, REACH), (REACH, REACH)), mode="edge")[np.newaxis]
    crop = SCALE * REACH + (kernel.shape[0] - SCALE) // 2
    weights = np.broadcast_to(kernel.astype(np.float32), (3, 1, *kernel.shape))
    return fastspectral.conv_transpose(padded, weights, group=3, strides=[SCALE] * 2, pads=[crop] * 4)[0]


def learn(small, large, known):
    """Kernel with the least squared error on the pixels of `small` that are `known`.

    Each of the SCALE x SCALE pixels that come of one is a weighted sum of its (2 REACH + 1)^2 neighbours.
    """
    side = 2 * REACH + 1
    padded = np.pad(small, ((0, 0), (REACH, REACH), (REACH, REACH)), mode="edge")
    neighbours = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))[:, known]
    squares = large.reshape(3, small.shape[1], SCALE, small.shape[2], SCALE).swapaxes(2, 3)[:, known]
    solution = np.linalg.lstsq(neighbours.reshape(-1, side**2), squares.reshape(-1, SCALE**2), rcond=None)[0]
    # A neighbour one pixel further down is seen by pixels that lie SCALE rows further up: its taps come before.
    taps = solution.reshape(side, side, SCALE, SCALE)[::-1, ::-1]
    return taps.swapaxes(1, 2).reshape(side * SCALE, side * SCALE)


def main():
    """Enlarge with three kernels, print how well and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", type=Path, default=Path("upsample_image.png"), help="where to save it")
    picture = parser.parse_args().picture

    large = photograph()
    small = shrink(large)
    known = np.ones(small.shape[1:], bool)
    known[tuple(slice(s.start // SCALE - REACH, s.stop // SCALE + REACH) for s in SHOWN)] = False

    triangle = 1 - np.abs(np.arange(2 * SCALE) + 0.5 - SCALE) / SCALE
    kernels = {
        "nearest": np.ones((SCALE, SCALE)),
        "bilinear": np.outer(triangle, triangle),
        "learned": learn(small, large, known),
    }
    plt.switch_backend("Agg")  # no display needed
    figure, axes = plt.subplots(2, 2, figsize=(7, 7.4), layout="constrained")
    for panel, (name, kernel) in zip(axes.flat, kernels.items(), strict=False):
        part = enlarge(small, kernel)[:, *SHOWN]
        decibels = -10 * np.log10(np.mean(np.square(part - large[:, *SHOWN])))
        print(f"{name:8}  {decibels:5.2f} dB")
        panel.imshow(part.transpose(1, 2, 0).clip(0, 1))
        panel.set_title(f"{name}, {decibels:.1f} dB")
    axes[1, 1].imshow(large[:, *SHOWN].transpose(1, 2, 0))
    axes[1, 1].set_title("the photograph")
    for panel in axes.flat:
        panel.set_axis_off()
    figure.savefig(picture, dpi=80)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
