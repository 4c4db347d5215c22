"""ops.stft against its definition."""

import ml_dtypes
import numpy as np
import pytest

import oracles
from accuracy import assert_accurate
from fastspectral import dft, hann_window, stft


def signal(rng, shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("parts", [0, 1, 2])
@pytest.mark.parametrize("windowed", [True, False])
def test_matches_the_definition(windowed, parts, onesided, dtype, rng):
    for length, frame, step in [
        (40, 16, 4),
        (41, 15, 7),
        (300, 64, 16),
        (100, 100, 1),
        (1000, 400, 160),
        (97, 31, 5),
        (600, 251, 100),
        (9, 1, 2),
        (20, 2, 3),
    ]:
        x = signal(rng, (3, length, parts) if parts else (3, length), dtype)
        window = signal(rng, frame, dtype) if windowed else None
        y = stft(x, step, window, frame, onesided=onesided)
        assert y.dtype == dtype
        assert_accurate(y, oracles.stft(x, step, window, frame, onesided=onesided), frame)


def test_frames_are_the_transforms_of_slices(rng):
    x, window = signal(rng, (2, 500)), hann_window(100)
    y = stft(x, 60, window)
    for frame in range(y.shape[1]):
        want = oracles.dft((x[:, frame * 60 : frame * 60 + 100] * window)[..., None], onesided=True)
        assert_accurate(y[:, frame], want, 100, c=2)


def test_without_window_and_length_is_one_transform(rng):
    x = signal(rng, (2, 48, 1))
    np.testing.assert_array_equal(stft(x, 7)[:, 0], dft(x, onesided=True))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_computed_in_float32(dtype, rng):
    x, window = signal(rng, (2, 200), dtype), hann_window(40).astype(dtype)
    wide = stft(x.astype(np.float32), 10, window.astype(np.float32))
    np.testing.assert_array_equal(stft(x, 10, window), wide.astype(dtype))


def test_window_of_another_precision_is_converted_once(rng):
    x = signal(rng, (1, 200))
    window = np.hanning(40)
    np.testing.assert_array_equal(stft(x, 10, window), stft(x, 10, window.astype(np.float32)))


def test_any_memory(rng):
    x = signal(rng, (3, 120, 2))
    want = stft(x, 9, frame_length=30)
    np.testing.assert_array_equal(stft(x[::-1, ::-1, ::-1][::-1, ::-1, ::-1], 9, frame_length=30), want)
    np.testing.assert_array_equal(stft(np.asfortranarray(x), 9, frame_length=30), want)
    np.testing.assert_array_equal(stft(x.astype(">f4"), 9, frame_length=30), want)
    real = np.ascontiguousarray(x[..., 0])
    np.testing.assert_array_equal(stft(x[..., 0], 9, frame_length=30), stft(real, 9, frame_length=30))
    np.testing.assert_array_equal(
        stft(np.broadcast_to(real[0], (3, 120)), 9, frame_length=30)[2], stft(real, 9, frame_length=30)[0]
    )


def test_out_and_workers(rng):
    x, window = signal(rng, (3, 4000)), hann_window(256)
    want = stft(x, 64, window, workers=1)
    out = np.empty_like(want)
    assert stft(x, 64, window, out=out, workers=2) is out
    np.testing.assert_array_equal(out, want)
    strided = np.zeros((*want.shape[:-1], 4), np.float32)[..., ::2]
    stft(x, 64, window, out=strided)
    np.testing.assert_array_equal(strided, want)


def test_nan_stays_in_its_frames(rng):
    x = signal(rng, (1, 400))
    clean = stft(x, 20, frame_length=40)
    x[0, 205] = np.nan
    y = stft(x, 20, frame_length=40)
    hit = [t for t in range(y.shape[1]) if t * 20 <= 205 < t * 20 + 40]
    assert np.isnan(y[0, hit, :, 0]).all()
    rest = np.delete(np.arange(y.shape[1]), hit)
    np.testing.assert_array_equal(y[0, rest], clean[0, rest])


def test_one_frame_may_have_any_step(rng):
    x = signal(rng, (2, 8, 2))
    np.testing.assert_array_equal(stft(x, 2**61, frame_length=4), stft(x, 5, frame_length=4))


def test_empty_batch():
    assert stft(np.zeros((0, 10), np.float32), 2, frame_length=4).shape == (0, 4, 3, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frame_step": 0, "frame_length": 4}, "frame_step must be at least 1"),
        ({"frame_step": 2, "frame_length": 0}, "frame_length"),
        ({"frame_step": 2, "frame_length": 11}, "frame_length"),
        ({"frame_step": 2, "frame_length": 4, "window": np.ones(5, np.float32)}, "window"),
        ({"frame_step": 2, "window": np.ones((2, 2), np.float32)}, "window"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        stft(np.zeros((1, 10), np.float32), **arguments)
