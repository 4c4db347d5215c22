"""Cases from public bug reports about ONNX runtimes, FFT and convolution libraries, restated for these operators.

Each tells where it was reported, what the ONNX node is given, and the right answer: an array from the definitions in
oracles.py, or ERROR for a Python exception instead of a crash, a hang or garbage.
"""

from typing import Any, NamedTuple

import numpy as np

import oracles

f2, f4, f8 = np.float16, np.float32, np.float64
ERROR = "error"


class Case(NamedTuple):
    """A node, its inputs in ONNX's order (None: left out) and the right answer, which counts where `mask` is true."""

    identifier: str
    source: str
    op: str
    opset: int
    attributes: dict[str, Any]
    inputs: dict[str, Any]
    expected: Any
    note: str
    rtol: float
    atol: float
    mask: Any


CASES: list[Case] = []


def add(identifier, source, op, opset, attributes, inputs, expected, note, rtol=None, atol=None, mask=True):
    """Record a case; default tolerance: 17 eps of float32, 450 of float64 or 2 of float16, of the largest value."""
    eps, scale = 0.0, 1.0
    if isinstance(expected, np.ndarray) and expected.dtype.kind == "f":
        eps = {2: 2e-3, 4: 2e-6, 8: 1e-13}[expected.dtype.itemsize]
        scale = max(1.0, np.abs(expected, where=np.isfinite(expected), out=np.zeros(expected.shape)).max(initial=0.0))
    rtol = eps if rtol is None else rtol
    atol = eps * scale if atol is None else atol
    CASES.append(Case(identifier, source, op, opset, attributes, inputs, expected, note, rtol, atol, mask))


def given(**attributes):
    """Attributes of a node: only those that are given."""
    return {name: value for name, value in attributes.items() if value is not None}


def random(seed, shape, dtype=f4):
    """Draw standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def pairs(values, dtype=f4):
    """(...) complex -> (..., 2) real."""
    return oracles.as_pairs(np.asarray(values)).astype(dtype)


def native(dtype):
    """Give the result dtype for an input dtype."""
    return dtype.newbyteorder("=")


def scalar(value):
    """Make an int64 input, or none."""
    return None if value is None else np.array(value, np.int64)


def dft(
    identifier, source, x, note, *, opset=20, length=None, axis=None, inverse=None, onesided=None, expected=None, **more
):
    """Add a DFT; up to opset 19 `axis` is an attribute of default 1, then an input of default -2."""
    attributes = given(inverse=inverse, onesided=onesided)
    inputs = {"input": x, "dft_length": length if isinstance(length, np.ndarray) else scalar(length)}
    if opset < 20:
        attributes |= given(axis=axis)
        along = 1 if axis is None else axis
    else:
        inputs["axis"] = scalar(axis)
        along = -2 if axis is None else axis
    if expected is None:
        n = None if length is None else int(np.ravel(length)[0])
        exact = oracles.dft(x, n, along, inverse=bool(inverse), onesided=bool(onesided))
        expected = exact.astype(native(x.dtype))
    add(identifier, source, "DFT", opset, attributes, inputs, expected, note, **more)


def stft(identifier, source, signal, step, note, *, window=None, frame=None, onesided=None, expected=None, **more):
    """Add an STFT; onesided defaults to 1."""
    inputs = {"signal": signal, "frame_step": scalar(step), "window": window, "frame_length": scalar(frame)}
    if expected is None:
        exact = oracles.stft(signal, int(np.ravel(step)[0]), window, frame, onesided=onesided != 0)
        expected = exact.astype(native(signal.dtype))
    add(identifier, source, "STFT", 17, given(onesided=onesided), inputs, expected, note, **more)


def window(identifier, source, op, size, note, *, periodic=None, output_datatype=None, expected=None, **more):
    """Add a HannWindow, HammingWindow or BlackmanWindow, of float32 or float64."""
    if expected is None:
        exact = oracles.window(op.removesuffix("Window").lower(), size, periodic != 0)
        expected = exact.astype(f8 if output_datatype == 11 else f4)
    attributes = given(periodic=periodic, output_datatype=output_datatype)
    add(identifier, source, op, 17, attributes, {"size": scalar(size)}, expected, note, **more)


def conv_transpose(identifier, source, x, w, note, *, b=None, opset=11, expected=None, **attributes):
    """Add a ConvTranspose."""
    if expected is None:
        expected = oracles.conv_transpose(x, w, b, **attributes).astype(native(x.dtype))
    add(identifier, source, "ConvTranspose", opset, attributes, {"X": x, "W": w, "B": b}, expected, note)


dft(
    "C001",
    "onnx/onnx#4798",
    np.arange(100, dtype=f4).reshape(1, 10, 10, 1),
    "length-10 ramp: exact zeros in the imaginary DC column; needs an absolute tolerance tied to the "
    "spectrum size, a pure relative check fails every FFT",
    opset=17,
    axis=1,
)
dft("C003", "onnx/onnx#4699", random(1, (1, 6, 10, 1)), "same input on axis 2: (1,6,6,2)", opset=17, axis=2, onesided=1)
dft(
    "C005",
    "microsoft/onnxruntime PR#17821",
    np.arange(10, dtype=f4).reshape(5, 2, 1),
    "axis 0 + onesided: (3,2,2)",
    axis=0,
    onesided=1,
)
dft(
    "C007",
    "microsoft/onnxscript PR#3023",
    np.arange(12, dtype=f4).reshape(1, 3, 4, 1),
    "no axis given, opset 20: default axis is -2 (different transform of the same data)",
)
dft(
    "C009",
    "microsoft/onnxscript#2704",
    random(3, (2, 4, 6, 1)),
    "rfft of the last signal axis of a stack; an exporter used length 2 on the component axis instead",
    axis=2,
    onesided=1,
)
half_spectrum = np.fft.rfft([9.0, -9.0, 1.0, 3.0])
dft(
    "C011",
    "onnx/onnx#5920, onnx/onnx#5914",
    pairs(half_spectrum)[np.newaxis],
    "inverse+onesided is irfft: one-sided complex in, real [...,1] out, default length 2*(bins-1)",
    axis=1,
    inverse=1,
    onesided=1,
)
dft(
    "C013",
    "microsoft/onnxruntime PR#27028",
    pairs(half_spectrum)[np.newaxis],
    "irfft with dft_length 8 from 3 bins: zero-pad the half spectrum to 5 bins; bin 2 is then an ordinary "
    "bin and must be mirrored. Seen: onnxruntime 1.32.0 counts the last given bin once: 4.5 instead of "
    "6.5 in sample 0, wrong; onnx reference right",
    axis=1,
    inverse=1,
    onesided=1,
    length=8,
)
dft(
    "C015",
    "microsoft/onnxruntime#13236",
    pairs(np.fft.rfft(np.arange(4.0)))[np.newaxis],
    "4 -> 3 bins -> 4 samples (not 5)",
    axis=1,
    inverse=1,
    onesided=1,
)
odd_half_spectrum = np.fft.rfft([-9.0, 1.0, 3.0])
dft(
    "C017",
    "numpy/numpy#8800",
    pairs(odd_half_spectrum)[np.newaxis],
    "odd-length signal with dft_length 3: full round trip",
    axis=1,
    inverse=1,
    onesided=1,
    length=3,
)
dft(
    "C019",
    "scipy/scipy#10251",
    pairs(np.array([3.0 + 4j]))[np.newaxis],
    "irfft of a single bin with dft_length 1: the real part of DC",
    axis=1,
    inverse=1,
    onesided=1,
    length=1,
)
dft(
    "C021",
    "pytorch/pytorch#154496",
    np.array([[[1, 100], [0, 0], [0, 0], [0, 0], [0, -7]]], f4),
    "imaginary parts at DC and Nyquist are ignored by irfft",
    axis=1,
    inverse=1,
    onesided=1,
)
dft(
    "C023",
    "sonos/tract#1901, sonos/tract PR#2444",
    random(8, (1, 16, 1)),
    "onesided keeps N/2+1 rows of the signal axis, and must slice that axis, not the component axis",
    opset=17,
    axis=1,
    onesided=1,
)
samples = np.arange(400)
dft(
    "C025",
    "ar1st0crat/NWaves#70, robertknight/rten PR#919",
    np.sin(2 * np.pi * 25 * samples / 400).astype(f4).reshape(1, 400, 1),
    "Whisper length 400, tone on bin 25; padding to 512 gives another spectrum. Seen: onnxruntime 1.32.0 "
    "relative L2 error about 4e-5 at N=400 (Bluestein in float32)",
    axis=1,
    onesided=1,
)
dft(
    "C027",
    "numpy/numpy PR#10625",
    random(9, (1, 4099, 1), f8),
    "prime 4099 in float64: relative L2 near 1e-15. Seen: onnxruntime 1.32.0 relative L2 8e-13",
    axis=1,
    rtol=0,
    atol=1e-10,
)
impulse = np.zeros((1, 2048, 1), f4)
impulse[0, 2047, 0] = 1
dft(
    "C029",
    "apple/coremltools PR#2746, microsoft/onnxruntime PR#32457",
    impulse,
    "impulse at the last sample of 2048: the output is the bare twiddles, every magnitude exactly 1; "
    "shows phases formed in float32 without reduction modulo N",
    axis=1,
    rtol=0,
    atol=3e-07,
)
dft(
    "C031", "microsoft/onnxruntime PR#29454", np.ones((1, 5, 1), f4), "dft_length -1", axis=1, length=-1, expected=ERROR
)
dft(
    "C033",
    "pytorch/pytorch#165739, pytorch/pytorch#113956",
    np.concatenate([np.array([np.nan, 0, 0, 0, 0, 0, 0, 0], f4).reshape(1, 8, 1), np.ones((1, 8, 1), f4)]),
    "NaN in one batch row must not leak into the next row; row 1 is [8,0,...]",
    axis=1,
    expected=np.concatenate([np.full((1, 8, 2), np.nan, f4), oracles.dft(np.ones((1, 8, 1), f4)).astype(f4)]),
    atol=1e-05,
    mask=np.broadcast_to(np.array([[[1, 0]], [[1, 1]]], bool), (2, 8, 2)),
)
dft(
    "C035",
    "pytorch/pytorch#33485",
    pairs(np.full(64, 2000.0), f2)[np.newaxis],
    "half inverse: the sum overflows half but sum/N = 2000 does not; accumulate wider, scale, then round",
    axis=1,
    inverse=1,
)
dft(
    "C037",
    "numpy/numpy#6012, IntelPython/mkl_fft#176, IntelPython/mkl_fft#204",
    random(12, (1, 12, 1)),
    "float32 in, float32 out (no silent double)",
    axis=1,
    onesided=1,
)
dft(
    "C039",
    "IntelPython/mkl_fft#21, vincefn/pyvkfft#34",
    random(14, (3, 3, 2))[np.newaxis],
    "size-1 axis from newaxis carries an arbitrary stride",
    axis=2,
)
dft(
    "C041",
    "IntelPython/dpnp PR#2939",
    np.broadcast_to(random(16, (1, 4, 1)), (3, 4, 1)),
    "zero-stride broadcast input, transform across the broadcast axis",
    axis=0,
)
read_only = random(18, (2, 7, 1))
read_only.flags.writeable = False
dft("C043", "numba/numba#4511, numba/numba#3844", read_only, "read-only input array", axis=1, onesided=1)
dft(
    "C045",
    "scipy/scipy#2233",
    random(20, (1, 2**17, 1)),
    "more than 15 radix-2 passes (an old library kept its factor list in 15 slots)",
    axis=1,
    onesided=1,
    rtol=0,
    atol=0.005,
)
dft(
    "C047",
    "onnx/onnx#5493",
    np.ones((3, 2, 1), f4),
    "axis -1 is the component dimension: refused",
    axis=-1,
    expected=ERROR,
)
dft(
    "C049",
    "onnx/onnx#5920",
    random(21, (1, 5, 2)),
    "forward onesided with complex input: spec allows real only. Elsewhere: onnxruntime 1.32.0 and the "
    "onnx reference return the first N//2+1 bins",
    axis=1,
    onesided=1,
    expected=ERROR,
)
dft(
    "C051",
    "onnx/onnx PR#7731 (length-1 vectors for scalars)",
    random(23, (1, 5, 1)),
    "dft_length given as shape [1] int32. Elsewhere: the onnx reference refuses a length-1 vector here",
    axis=1,
    length=np.array([8], np.int32),
)
stft(
    "C053",
    "microsoft/onnxruntime#16163",
    random(30, (2, 200, 1)),
    10,
    "frame 100 (non power of two), hop 10, float32. Seen: error grew when onnxruntime moved to a float32 "
    "chirp-z in 1.15",
    window=oracles.window("hann", 100).astype(f4),
    frame=100,
)
stft(
    "C055",
    "tensorflow/tensorflow#108140, #117843",
    random(32, (1, 10, 1)),
    2,
    "frame_length 0. Seen: onnxruntime 1.32.0 kills the process with SIGFPE (checked in a child process)",
    frame=0,
    expected=ERROR,
)
stft("C057", "microsoft/onnxruntime PR#28465", random(32, (1, 10, 1)), 0, "frame_step 0", frame=4, expected=ERROR)
stft("C059", "microsoft/onnxruntime PR#28465", random(32, (1, 10, 1)), 2, "frame_length -4", frame=-4, expected=ERROR)
complex_signal = np.stack([np.arange(10), np.arange(10)[::-1]], -1).astype(f4)
stft(
    "C061",
    "microsoft/onnxruntime PR#28961",
    np.stack([complex_signal, 10 * complex_signal]),
    3,
    "complex signal, batch 2: frame starts count complex samples; a doubled offset reads the next batch row",
    frame=4,
    onesided=0,
)
stft(
    "C063",
    "microsoft/onnxscript#2942",
    random(34, (1, 20, 1)),
    [3],
    "frame_step as shape [1] vector: accept like the scalar. Elsewhere: strict reading: scalar only",
    frame=8,
)
stft(
    "C065",
    "robertknight/rten PR#1245",
    random(35, (1, 20, 1)),
    3,
    "window longer than frame_length. Seen: onnx reference 1.23.2 silently cuts the window; onnxruntime refuses",
    frame=8,
    window=np.ones(9, f4),
    expected=ERROR,
)
padded_window = np.zeros(32, f4)
padded_window[8:24] = oracles.window("hann", 16).astype(f4)
stft(
    "C067",
    "pytorch/pytorch#53089, #87584, #134323, #142392",
    random(36, (1, 100, 1)),
    8,
    "win_length 16 inside n_fft 32: the caller pads the window (centred); frames come from frame_length: 9",
    frame=32,
    window=padded_window,
)
stft(
    "C069",
    "pytorch/pytorch#7038, librosa/librosa#984",
    random(38, (1, 1024, 1)),
    256,
    "ONNX does no centring: 1024 samples, frame 1024 is exactly one frame (librosa would give 5)",
    frame=1024,
)
stft(
    "C071",
    "pytorch/pytorch#107677",
    complex_signal[np.newaxis],
    3,
    "complex signal with the default onesided=1: the first L//2+1 bins, as onnxruntime and the reference",
    frame=4,
    expected=oracles.stft(complex_signal[np.newaxis], 3, None, 4).astype(f4)[:, :, :3],
)
stft(
    "C073",
    "pytorch/pytorch#70664",
    random(41, (1, 40, 1), f2),
    10,
    "half signal and window, frame 20",
    frame=20,
    window=oracles.window("hann", 20).astype(f4).astype(f2),
    atol=0.02,
)
window(
    "C075",
    "onnx/onnx#5316",
    "HammingWindow",
    10,
    "true pi; the published node test uses 3.1415 and is off by up to 8e-5",
    periodic=0,
)
window("C077", "pytorch/pytorch#149836", "HannWindow", 16, "periodic: divides by 16", periodic=1)
window("C079", "scipy/scipy#4551, scipy/scipy#2190", "HannWindow", 5, "odd length, periodic: not symmetric", periodic=1)
window(
    "C081", "scipy/scipy#4551, scipy/scipy#2190", "BlackmanWindow", 5, "odd length, periodic: not symmetric", periodic=1
)
window(
    "C083",
    "pytorch/pytorch PR#9896, ooples/AiDotNet PR#576",
    "HannWindow",
    1,
    "symmetric length 1: [1], not NaN. Elsewhere: onnxruntime 1.32.0 and the onnx reference both give NaN",
    periodic=0,
)
window(
    "C085",
    "pytorch/pytorch PR#9896, ooples/AiDotNet PR#576",
    "BlackmanWindow",
    1,
    "symmetric length 1: [1], not NaN. Elsewhere: onnxruntime 1.32.0 and the onnx reference both give NaN",
    periodic=0,
)
window("C087", "unifyai/ivy#4666", "HannWindow", -3, "negative length", expected=ERROR)
window(
    "C089",
    "numpy/numpy#17169, scipy/scipy#12811",
    "BlackmanWindow",
    4096,
    "float64 symmetric: w == w[::-1] bit for bit. Seen: onnxruntime 1.32.0 is off by 1.8e-8 (float32 "
    "constants) and not bit-symmetric",
    periodic=0,
    output_datatype=11,
    rtol=0,
    atol=5e-16,
)
window(
    "C091",
    "microsoft/onnxscript PR#1995",
    "HammingWindow",
    7,
    "output_datatype DOUBLE: real double accuracy. Seen: onnxruntime 1.32.0 error 2e-8",
    output_datatype=11,
)
window(
    "C093",
    "microsoft/onnxscript PR#1995",
    "BlackmanWindow",
    6,
    "output_datatype INT64: truncation toward zero",
    output_datatype=7,
    expected=np.array([0, 0, 0, 1, 0, 0], np.int64),
)
RAMP = np.arange(1, 4, dtype=f4).reshape(1, 1, 3)
TAPS = np.array([1, 10, 100], f4).reshape(1, 1, 3)
conv_transpose(
    "C095",
    "microsoft/onnxruntime#4698",
    np.arange(25, dtype=f4).reshape(1, 1, 5, 5),
    np.arange(9, dtype=f4).reshape(1, 1, 3, 3),
    "SAME_UPPER stride 2: 10x10",
    strides=[2, 2],
    auto_pad="SAME_UPPER",
)
conv_transpose(
    "C097",
    "microsoft/onnxruntime#9370, PR#8769, PR#12537",
    RAMP,
    TAPS,
    "odd total padding, SAME_UPPER: extra pad at the end",
    strides=[2],
    auto_pad="SAME_UPPER",
)
conv_transpose(
    "C099",
    "onnx/onnx#1609, onnx/onnx PR#2095, root-project/root PR#23088",
    RAMP,
    TAPS,
    "output_shape with NOTSET and odd total: extra pad at the START (opset 11/22 text). Seen: onnxruntime "
    "1.32.0 agrees; the onnx reference evaluator raises",
    strides=[2],
    output_shape=[6],
)
conv_transpose(
    "C101",
    "onnx/onnx#4159, onnx/onnx PR#4167",
    np.arange(9, dtype=f4).reshape(1, 1, 3, 3),
    np.ones((1, 2, 3, 3), f4),
    "output_shape one larger than the natural size: pads clamp to 0, zeros at the end",
    strides=[3, 2],
    output_shape=[10, 8],
)
conv_transpose(
    "C103",
    "microsoft/onnxruntime#6067, onnx/onnx#3153, onnx/keras-onnx#555",
    random(50, (1, 2, 4, 5)),
    random(51, (2, 3, 4, 4)),
    "Keras padding=same kernel 4 stride 2: 8x10",
    strides=[2, 2],
    auto_pad="SAME_UPPER",
)
conv_transpose(
    "C105",
    "microsoft/onnxruntime#26271, microsoft/onnxruntime PR#26665",
    RAMP,
    TAPS,
    "output_shape 4: pads 2 and 1 derived, given pads ignored",
    strides=[2],
    output_shape=[4],
    pads=[3, 3],
)
conv_transpose(
    "C107",
    "openvinotoolkit/openvino PR#32854",
    RAMP,
    TAPS,
    "output_shape written with batch and channel: [1,1,6]. Elsewhere: the spec forbids batch and channel there",
    strides=[2],
    output_shape=[1, 1, 6],
    expected=oracles.conv_transpose(RAMP, TAPS, strides=[2], output_shape=[6]).astype(f4),
)
conv_transpose(
    "C109",
    "microsoft/onnxruntime#2518, PR#2688",
    random(56, (1, 1, 6, 6)),
    random(57, (1, 2, 3, 5)),
    "stride 2 with dilation 3 on one axis: size uses (k-1)*d+1",
    strides=[2, 1],
    dilations=[3, 1],
    pads=[2, 1, 2, 1],
)
conv_transpose(
    "C111",
    "pytorch/pytorch#14272, PR#43793",
    random(58, (1, 1, 5)),
    random(59, (1, 1, 3)),
    "dilation 3 with a wanted output size of 14 (natural 15)",
    strides=[2],
    dilations=[3],
    output_shape=[14],
)
conv_transpose(
    "C113", "pytorch/pytorch#964", RAMP, TAPS, "output_padding -1", strides=[2], output_padding=[-1], expected=ERROR
)
conv_transpose(
    "C115",
    "pytorch/pytorch#88647, pytorch/pytorch#127734",
    np.ones((1, 1, 2, 2), f4),
    np.ones((1, 1, 2, 2), f4),
    "pads eat the whole output: size 0. Elsewhere: CUDA and older CPU code return an empty tensor",
    strides=[2, 2],
    pads=[2, 2, 2, 2],
    expected=ERROR,
)
conv_transpose(
    "C117",
    "tensorflow/tensorflow#57715, #57709",
    RAMP,
    TAPS,
    "negative output_shape",
    strides=[2],
    output_shape=[-2],
    expected=ERROR,
)
conv_transpose(
    "C119",
    "tensorflow/tensorflow#125506",
    np.ones((1, 1, 3, 3), f4),
    np.ones((1,), f4),
    "rank-1 filter",
    expected=ERROR,
)
conv_transpose(
    "C121", "microsoft/onnxruntime PR#32679", RAMP, np.ones((1, 1, 2, 2, 2), f4), "X rank 3, W rank 5", expected=ERROR
)
conv_transpose(
    "C123",
    "microsoft/onnxruntime#28731",
    RAMP,
    TAPS,
    "kernel_shape that disagrees with W",
    kernel_shape=[2],
    expected=ERROR,
)
conv_transpose("C125", "Oneflow-Inc/oneflow#10519", RAMP, TAPS, "stride 0", strides=[0], expected=ERROR)
conv_transpose(
    "C127",
    "robertknight/rten PR#1398",
    np.arange(1, 3, dtype=f4).reshape(1, 1, 2),
    np.array([1, 10, 100], f4).reshape(1, 1, 3),
    "large dilation and pads: some kernel taps touch no output at all (an out-of-bounds write elsewhere)",
    dilations=[5],
    pads=[5, 5],
)
conv_transpose(
    "C129",
    "onnx/onnx#7802",
    np.ones((1, 3, 4), f4),
    np.ones((3, 1, 2), f4),
    "channels not divisible by group",
    group=2,
    expected=ERROR,
)
conv_transpose(
    "C131",
    "onnx/onnx#7802",
    RAMP,
    TAPS,
    "bias of the wrong length. Seen: onnx reference 1.23.2 silently uses the first bias",
    b=np.ones(2, f4),
    expected=ERROR,
)
conv_transpose(
    "C133",
    "google/XNNPACK#1951",
    np.array([1, 2, 3, 4, 5, 6, 7, 8], f4).reshape(1, 2, 2, 2),
    np.tile(np.arange(1, 10, dtype=f4).reshape(1, 1, 3, 3), (2, 1, 1, 1)),
    "group 2, 2x2 input, 3x3 kernel 1..9",
    group=2,
)
conv_transpose(
    "C135",
    "pytorch/pytorch#47341",
    random(63, (1, 5, 7)),
    random(64, (5, 1, 6)),
    "depthwise 1-D, kernel 6 stride 3 pad 2 output_padding 1",
    group=5,
    strides=[3],
    pads=[2, 2],
    output_padding=[1],
)
conv_transpose(
    "C137",
    "microsoft/onnxruntime#28976, PR#28977",
    (np.arange(2100) % 7).astype(f2).reshape(1, 1, 2100),
    np.array([1, 2, 3, 4], f2).reshape(1, 1, 4),
    "half data, output longer than 2048: positions must be integers, not half floats",
    strides=[2],
    opset=22,
)
conv_transpose(
    "C139",
    "Tencent/ncnn PR#1122, PR#3337",
    RAMP,
    np.array([1, 10], f4).reshape(1, 1, 2),
    "output_padding region not reached by any tap holds the bias",
    strides=[3],
    output_padding=[2],
    b=np.array([5], f4),
)
conv_transpose(
    "C141",
    "microsoft/onnxruntime#7546, #11453",
    random(71, (1, 2, 5), f8),
    random(72, (2, 2, 3), f8),
    "double: result in double accuracy. Seen: onnxruntime 1.32.0 CPU: NOT_IMPLEMENTED for double",
    strides=[2],
)
conv_transpose(
    "C143",
    "IntelPython/mkl_fft#21",
    random(75, (1, 2, 10))[:, :, ::2],
    random(76, (2, 2, 6))[:, :, ::-2],
    "strided X and negative-stride W",
    strides=[2],
)
conv_transpose(
    "C145",
    "microsoft/onnxruntime PR#3728, pytorch/pytorch PR#24341",
    np.zeros((0, 1, 3), f4),
    TAPS,
    "batch 0: empty output (0,1,7). Seen: onnx reference 1.23.2 raises TypeError",
    strides=[2],
)
conv_transpose(
    "C147",
    "microsoft/onnxruntime#28356",
    random(79, (1, 2, 2, 3, 2)),
    random(80, (2, 2, 2, 2, 3)),
    "3-D",
    strides=[2, 1, 2],
    pads=[0, 1, 0, 1, 0, 1],
    opset=22,
)
conv_transpose(
    "C149",
    "numba/numba#8457",
    random(83, (1, 1, 257)),
    random(84, (1, 1, 64)),
    "stride 1 and a long kernel: each output receives up to 64 adds; a racy += shows here",
)
dft(
    "C151",
    "IntelPython/mkl_fft#135, #115",
    random(91, (7, 3, 2), f8),
    "irfft along axis 0 with a cut length (6 from 7 bins) on a 3-D array. Seen: onnxruntime 1.32.0 wrong "
    "(0.27 off at scale 0.77)",
    axis=0,
    inverse=1,
    onesided=1,
    length=6,
)
conv_transpose(
    "C153",
    "numba/numba#2243, pydata/sparse#521, hyperspy/hyperspy PR#2678",
    random(93, (1, 2, 4)).astype(">f4"),
    random(94, (2, 2, 3)).astype(">f4"),
    "big-endian X and W",
    strides=[2],
)
dft("C155", "numba/numba#4402", random(97, (1, 9, 2), f2), "half complex, length 9", axis=1, atol=0.02)
with_nan = np.array([[[1.0, np.nan, 2.0]]], f4)
conv_transpose(
    "C157",
    "numba/numba#9383",
    with_nan,
    np.array([[[3.0, 4.0]]], f4),
    "NaN reaches exactly the two outputs it touches",
    strides=[2],
)
dft(
    "C159",
    "numpy/numpy#6693, numpy/numpy PR#25399",
    random(98, (2, 30, 2)),
    "inverse keeps its input unchanged (no in-place scaling of the argument)",
    axis=1,
    inverse=1,
)
conv_transpose(
    "C161",
    "a vendor's operator page: pads are corrected where auto_pad is set",
    RAMP,
    TAPS,
    "VALID with pads [1, 0] given: pads are 0 (UserWarning)",
    strides=[2],
    auto_pad="VALID",
    pads=[1, 0],
    expected=oracles.conv_transpose(RAMP, TAPS, strides=[2]).astype(f4),
)
conv_transpose(
    "C163",
    "a vendor's operator page: output_padding of 4 values for 4-D",
    np.ones((1, 1, 2, 2), f4),
    np.ones((1, 1, 3, 3), f4),
    "output_padding [1, 0, 1, 1] is refused",
    strides=[2, 2],
    output_padding=[1, 0, 1, 1],
    expected=ERROR,
)
dft(
    "C165",
    "published example test_cc_dft_axis",
    np.arange(100, dtype=f4).reshape(1, 10, 10, 1),
    "ramp of 100 along axis 2",
    axis=2,
)
dft(
    "C167",
    "published example test_cc_dft_irfft",
    pairs(np.fft.rfft(np.arange(100.0).reshape(1, 10, 10), axis=1)),
    "irfft of the ramp along axis 1",
    axis=1,
    inverse=1,
    onesided=1,
    atol=0.0001,
)
dft(
    "C169",
    "published example test_cc_dft_rfft",
    np.arange(1, 5, dtype=f4).reshape(1, 4, 1),
    "one-sided of 1, 2, 3, 4",
    axis=1,
    onesided=1,
)
dft(
    "C171",
    "the rule that nothing is converted silently",
    np.arange(8).reshape(1, 8, 1),
    "integer input is a TypeError that says what to convert to",
    axis=1,
    expected=ERROR,
)
conv_transpose(
    "C173",
    "the rule that nothing is converted silently",
    RAMP,
    TAPS.astype(f8),
    "x float32 with w float64 is a TypeError",
    strides=[2],
    expected=ERROR,
)
conv_transpose(
    "C175",
    "the rule that holes hold zeros, not products with zero",
    np.array([1, np.inf, 2], f4).reshape(1, 1, 3),
    np.array([1, 2, 3], f4).reshape(1, 1, 3),
    "an inf sample, kernel 3, stride 2",
    strides=[2],
    pads=[1, 1],
)
