"""ops.istft: stft undone, the least-squares formula, centred frames, and what other libraries give."""

import ml_dtypes
import numpy as np
import pytest
import scipy.signal

import oracles
from accuracy import EPS, assert_accurate
from fastspectral import hamming_window, hann_window, istft, stft
from fastspectral.ops import istft as module

PAIRS = [
    *((n, step) for n in (16, 25, 100, 256, 400, 512) for step in (1, n // 4, n // 2, n)),
    *((2048, 512), (1024, 300), (441, 160), (251, 97), (31, 7), (2, 1)),
]


def signals(rng, shape, dtype=np.float64):
    return rng.standard_normal(shape).astype(dtype)


def by_definition(spectrum, step, window, n, onesided=True, length=None):
    """Every frame transformed back and added, in extended precision."""
    bins = oracles.as_complex(spectrum)
    frames = np.fft.irfft(bins, n) if onesided else np.fft.ifft(bins).real
    total = (frames.shape[1] - 1) * step + n
    sums, squares = np.zeros((len(frames), total), np.longdouble), np.zeros(total, np.longdouble)
    window = np.asarray(window, np.longdouble)
    for t in range(frames.shape[1]):
        sums[:, t * step : t * step + n] += window * frames[:, t]
        squares[t * step : t * step + n] += window**2
    result = np.divide(sums, squares, out=np.zeros_like(sums), where=squares > 0)
    length = total if length is None else length
    return np.pad(result, ((0, 0), (0, max(0, length - total))))[:, :length, np.newaxis]


def test_there_are_thirty_pairs():
    assert len(set(PAIRS)) == len(PAIRS) == 30


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("onesided", [True, False])
def test_undoes_stft(onesided, dtype, rng):
    """Within 5 eps: of the signal as a whole; and of its largest sample, more only where windows are small."""
    eps = EPS[np.dtype(dtype).name]
    for n, step in PAIRS:
        for window in (hamming_window(n, output_datatype=11 if dtype is np.float64 else 1), None):
            x = signals(rng, (2, n + 29 * step), dtype)
            spectrum = stft(x, step, window, n, onesided=onesided)
            y = istft(spectrum, step, window, n, onesided=onesided)
            assert y.dtype == dtype
            assert y.shape == (*x.shape, 1)
            error = (y[..., 0] - x).astype(np.float64)
            assert np.linalg.norm(error) <= 5 * eps * np.linalg.norm(x), (n, step)
            squares = by_definition(spectrum[:1], step, np.ones(n), n, onesided).shape[1]
            reach = np.zeros(squares)
            for t in range(30):
                reach[t * step : t * step + n] += 1 if window is None else np.square(window, dtype=float)
            assert (abs(error) <= 5 * eps * abs(x).max() * np.sqrt(reach.max() / reach)).all(), (n, step)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("frames", [1, 2, 3, 9, 70])
def test_any_spectrum_by_the_definition(frames, onesided, dtype, rng):
    for n, step in [(16, 4), (15, 7), (64, 16), (9, 1), (100, 100), (1, 1), (40, 39)]:
        window = (rng.random(n) + 0.5).astype(dtype)
        spectrum = signals(rng, (3, frames, n // 2 + 1 if onesided else n, 2), dtype)
        total = (frames - 1) * step + n
        for length in (None, 1, total // 2 + 1, max(1, total - 1), total + 9):
            y = istft(spectrum, step, window, n, onesided=onesided, length=length)
            assert_accurate(y, by_definition(spectrum, step, window, n, onesided, length), 16)


def test_default_frame_lengths(rng):
    x = signals(rng, (1, 96))
    np.testing.assert_array_equal(
        istft(stft(x, 8, frame_length=16), 8), istft(stft(x, 8, frame_length=16), 8, frame_length=16)
    )
    assert istft(stft(x, 8, frame_length=15, onesided=False), 8, onesided=False).shape == (1, 10 * 8 + 15, 1)
    odd = stft(x, 8, frame_length=15)
    np.testing.assert_array_equal(istft(odd, 8, np.ones(15)), istft(odd, 8, frame_length=15))


def test_ends_that_no_window_reaches_are_zero(rng):
    x = signals(rng, (2, 90))
    window = hann_window(30, output_datatype=11)
    window[-3:] = 0
    y = istft(stft(x, 10, window), 10, window, length=100)[..., 0]
    assert not y[:, 0].any()
    assert not y[:, 87:].any()
    np.testing.assert_allclose(y[:, 10:80], x[:, 10:80], rtol=0, atol=1e-14)
    window[0] = 1e-17  # it holds nothing of sample 0 but rounding errors
    assert not istft(stft(x, 10, window), 10, window)[:, 0].any()


@pytest.mark.parametrize("step", [28, 29, 30])
def test_gaps_inside_are_errors(step, rng):
    window = hann_window(30, output_datatype=11)
    window[-1] = 0  # reaches 28 samples
    spectrum = signals(rng, (1, 40, 16, 2))
    if step == 28:
        assert istft(spectrum, step, window).shape == (1, 39 * 28 + 30, 1)
    else:
        with pytest.raises(ValueError, match="gaps"):
            istft(spectrum, step, window)
        with pytest.raises(ValueError, match="gaps"):
            istft(spectrum[:, :2], step, window)
    # cut to the samples before the gap, which then is an end
    assert istft(spectrum, step, window, length=29).shape == (1, 29, 1)


@pytest.mark.parametrize(("dtype", "exponents"), [(np.float32, (-130, -100, -40, 70, 90)), (np.float64, (-600, 600))])
def test_windows_of_any_size(dtype, exponents, rng):
    """Squares of the window neither overflow nor vanish: a power of two in it is exactly one in the result."""
    spectrum, window = signals(rng, (1, 9, 9, 2), dtype), np.round(1e3 * hamming_window(16)).astype(dtype)
    for exponent in exponents:
        want = np.ldexp(istft(spectrum, 4, window), -exponent)
        np.testing.assert_array_equal(istft(spectrum, 4, np.ldexp(window, exponent)), want)


def test_nan_stays_in_its_frames(rng):
    spectrum = signals(rng, (1, 60, 9, 2), np.float32)
    clean = istft(spectrum, 4, hamming_window(16))
    spectrum[0, 30, 2, 0] = np.nan
    y = istft(spectrum, 4, hamming_window(16))
    assert np.isnan(y[0, 120:136]).all()
    np.testing.assert_array_equal(np.delete(y, range(120, 136), 1), np.delete(clean, range(120, 136), 1))
    assert np.isnan(istft(spectrum, 4, np.full(16, np.nan, np.float32))).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(dtype, rng):
    spectrum, window = signals(rng, (2, 20, 21, 2), dtype), hamming_window(40).astype(dtype)
    for onesided, frame_length in ((True, 40), (False, None)):
        shown = window if onesided else window[:21]
        wide = istft(spectrum.astype(np.float32), 10, shown.astype(np.float32), frame_length, onesided=onesided)
        np.testing.assert_array_equal(istft(spectrum, 10, shown, frame_length, onesided=onesided), wide.astype(dtype))


def test_any_memory_and_out(rng):
    spectrum, window = signals(rng, (3, 20, 17, 2)), np.hamming(32)
    want = istft(spectrum, 8, window)
    for same in (spectrum[::-1].copy()[::-1], np.asfortranarray(spectrum), spectrum.astype(">f8")):
        np.testing.assert_array_equal(istft(same, 8, window), want)
    out = np.empty_like(want)
    assert istft(spectrum, 8, window, out=out) is out
    np.testing.assert_array_equal(out, want)
    strided = np.zeros((3, 2 * want.shape[1], 1))[:, ::2]
    assert istft(spectrum, 8, window, out=strided) is strided
    np.testing.assert_array_equal(strided, want)
    with pytest.raises(ValueError, match="apart from the inputs"):
        istft(spectrum, 8, window, out=spectrum.reshape(-1)[: want.size].reshape(want.shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("batch", "n", "step", "frames"), [(1, 400, 160, 500), (5, 64, 3, 300), (1, 1024, 256, 7), (2, 9, 9, 4000)]
)
def test_workers_change_no_bit(batch, n, step, frames, dtype, rng, monkeypatch):
    spectrum, window = signals(rng, (batch, frames, n // 2 + 1, 2), dtype), np.hamming(n).astype(dtype)
    want = istft(spectrum, step, window, n, workers=1)
    for workers in (2, -1):
        np.testing.assert_array_equal(istft(spectrum, step, window, n, workers=workers), want)
    monkeypatch.setattr(module, "PIECES", 50)  # more pieces than groups of frames
    np.testing.assert_array_equal(istft(spectrum, step, window, n, workers=2), want)
    monkeypatch.setattr(module, "FRAMES_BYTES", 1)
    np.testing.assert_array_equal(istft(spectrum, step, window, n, workers=1), want)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frame_step": 0}, "frame_step must be at least 1"),
        ({"frame_step": 9}, "at most"),
        ({"frame_length": 0}, "frame_length must be at least 1"),
        ({"frame_length": 10}, "must have 6 bins"),
        ({"onesided": False, "frame_length": 8}, "must have 8 bins"),
        ({"window": np.ones(9)}, "window must have frame_length = 8"),
        ({"window": np.ones((2, 4))}, "one dimension"),
        ({"window": np.zeros(8)}, "zero everywhere"),
        ({"length": 0}, "length must be at least 1"),
        ({"spectrum": np.zeros((3, 5, 2))}, "shape"),
        ({"spectrum": np.zeros((1, 3, 5, 1))}, "shape"),
        ({"spectrum": np.zeros((1, 0, 5, 2))}, "at least one frame"),
        ({"spectrum": np.zeros((1, 3, 1, 2)), "frame_length": None}, "at least 1"),
        ({"out": np.zeros((1, 12, 1))[:, ::2]}, "out must have shape"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        istft(**({"spectrum": np.zeros((1, 3, 5, 2)), "frame_step": 4, "frame_length": 8} | arguments))


def test_refuses_other_types():
    for arguments in (
        {"spectrum": np.zeros((1, 3, 5, 2), int)},
        {"length": 2.0},
        {"frame_step": True},
        {"window": [1] * 8},
    ):
        with pytest.raises(TypeError):
            istft(**({"spectrum": np.zeros((1, 3, 5, 2)), "frame_step": 4} | arguments))


def test_one_frame_may_have_any_step(rng):
    spectrum = signals(rng, (2, 1, 5, 2))
    np.testing.assert_array_equal(istft(spectrum, 2**61), istft(spectrum, 3))
    assert istft(np.zeros((0, 4, 5, 2)), 2).shape == (0, 14, 1)


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_centred_frames_as_librosa_and_torch_have_them(mode, rng):
    """Frame t is around sample t · step of the padded signal; undone, the padding is cut off."""
    n, step, x = 64, 16, signals(rng, (2, 501))
    window = hann_window(n, output_datatype=11)
    padded = np.pad(x, ((0, 0), (n // 2, n // 2)), mode=mode)
    spectrum = stft(padded, step, window)
    assert spectrum.shape[1] == 1 + 501 // step
    wide = np.pad(x.astype(np.longdouble), ((0, 0), (n, n)), mode=mode)
    for t in (0, 1, 15, 31):
        frame = wide[:, n + t * step - n // 2 :][:, :n] * window
        assert_accurate(spectrum[:, t], oracles.as_pairs(np.fft.rfft(frame)), n)
    again = istft(spectrum, step, window)[:, n // 2 :][:, :501]
    np.testing.assert_allclose(again[..., 0], x, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("n", "step"), [(64, 16), (50, 20), (33, 11)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_torchs(dtype, n, step, rng):
    torch = pytest.importorskip("torch")
    x, window = signals(rng, (2, 501), dtype), hann_window(n, output_datatype=dtype)
    options = {"n_fft": n, "hop_length": step, "window": torch.from_numpy(window)}
    theirs = torch.stft(torch.from_numpy(x), **options, return_complex=True)
    ours = stft(np.pad(x, ((0, 0), (n // 2, n // 2)), mode="reflect"), step, window)
    assert_accurate(ours, oracles.as_pairs(theirs.numpy().swapaxes(1, 2)), n)
    covered = step * (ours.shape[1] - 1)
    want = torch.istft(theirs, **options, length=covered).numpy()
    y = istft(ours, step, window)[:, n // 2 :][:, :covered, 0]
    np.testing.assert_allclose(y, want, rtol=0, atol=32 * EPS[np.dtype(dtype).name] * abs(x).max())


@pytest.mark.parametrize(("n", "step"), [(64, 16), (50, 20), (33, 11)])
def test_equals_scipys_where_all_windows_reach(n, step, rng):
    """Of any spectrum: SciPy's canonical dual window gives the least squares too."""
    window, spectrum = np.hamming(n), signals(rng, (1, 60, n // 2 + 1, 2))
    theirs = scipy.signal.ShortTimeFFT(window, step, fs=1.0, phase_shift=None)
    want = theirs.istft(oracles.as_complex(spectrum)[0].T.astype(complex), k1=40 * step)
    begin = theirs.m_num_mid - theirs.p_min * step  # SciPy's sample 0 in what begins with the first frame
    y = istft(spectrum, step, window, n)[0, begin:, 0]
    inside = slice(n, 40 * step - n)
    np.testing.assert_allclose(y[inside], want[inside], rtol=0, atol=1e-14)
