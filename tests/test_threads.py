"""Every operator on many workers, from many threads and processes, on every layer of Numba's: the same bits as serially."""

import concurrent.futures
import hashlib
import itertools
import multiprocessing
import os
import random
import subprocess
import sys
import threading
from importlib.util import find_spec

import numba
import numpy as np
import pytest
from numba import njit, prange

import fastspectral
from fastspectral import fft_plan, kernels, set_workers


def numbers(*shape, dtype=np.float64):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


# Large enough for the workers to be at work at the same time: with a tenth of it, scratch shared by mistake went unseen.
LINES = numbers(1501, 400, 2)
COLUMNS = numbers(30, 600, 37, 2, dtype=np.float32)
BINS = numbers(1503, 201, 2, dtype=np.float32)
LINE = numbers(1, 300_000, 2, dtype=np.float32)
SPEECH, WINDOW = numbers(2, 80000), np.hanning(400)
X, W = numbers(2, 64, 400, dtype=np.float32), numbers(64, 64, 8, dtype=np.float32)
IMAGE, TAPS = numbers(2, 48, 40, 41), numbers(48, 8, 3, 3)

# Whole groups of lines and ragged ones, one line that is long enough for two sweeps, a convolution for a length with a large prime,
# every way in and out of a real transform; ConvTranspose in blocks, in groups, and with a weight that only the direct sum takes.
CALLS = {
    "dft": lambda: fastspectral.dft(LINES),
    "dft of columns": lambda: fastspectral.dft(COLUMNS, axis=1),
    "dft of a prime length": lambda: fastspectral.dft(LINES[:301], 1009),
    "dft of real lines": lambda: fastspectral.dft(LINES[..., :1], onesided=True),
    "dft to real lines": lambda: fastspectral.dft(BINS, inverse=True, onesided=True),
    "dft of one long line": lambda: fastspectral.dft(LINE, 1 << 19),
    "dft in float16": lambda: fastspectral.dft(LINES.astype(np.float16), inverse=True),
    "stft": lambda: fastspectral.stft(SPEECH, 160, WINDOW),
    "stft of odd frames": lambda: fastspectral.stft(SPEECH, 100, frame_length=31, onesided=False),
    "conv_transpose": lambda: fastspectral.conv_transpose(X, W, strides=[4], pads=[2, 2]),
    "conv_transpose in groups": lambda: fastspectral.conv_transpose(IMAGE, TAPS, group=3, dilations=[1, 2]),
    "conv_transpose with infinity": lambda: fastspectral.conv_transpose(X, np.where(W > 2, np.float32(np.inf), W)),
    "hann_window": lambda: fastspectral.hann_window(1000),
    "mel_weight_matrix": lambda: fastspectral.mel_weight_matrix(80, 400, 16000, 0.0, 8000.0),
}


def results(workers):
    """Digests of the result of every call, by its name."""
    with set_workers(workers):
        return {name: digest(call()) for name, call in CALLS.items()}


def digest(result):
    return hashlib.sha256(result.tobytes()).hexdigest()


def results_in_threads(count):
    """The same from each of `count` threads, which start at once, in orders and with workers of their own."""
    gate = threading.Barrier(count)

    def run(number):
        calls = random.Random(number).sample(sorted(CALLS.items()), len(CALLS))
        gate.wait(timeout=60)
        with set_workers([None, 1, -1][number % 3]):
            return {name: digest(call()) for name, call in calls}

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


# Such that a layer is entered and left all the time: as little work as the package shares out, and in between calls that it does not.
SHORT_CALLS = {
    "dft": lambda: fastspectral.dft(LINES[:50]),
    "dft of one line": lambda: fastspectral.dft(LINES[0]),
    "dft of real lines": lambda: fastspectral.dft(LINES[:90, :, :1], onesided=True),
    "dft of columns": lambda: fastspectral.dft(COLUMNS[:2], axis=1),
    "stft": lambda: fastspectral.stft(SPEECH[:1, :16000], 160, WINDOW),
    "conv_transpose": lambda: fastspectral.conv_transpose(X[:1, :, :60], W, strides=[4], pads=[2, 2]),
    "conv_transpose in groups": lambda: fastspectral.conv_transpose(IMAGE[:1, :, :8], TAPS, group=3),
    "conv_transpose with infinity": lambda: fastspectral.conv_transpose(
        X[:1, :, :20], np.where(W > 2, np.inf, W).astype("f4")
    ),
    "hann_window": lambda: fastspectral.hann_window(100),
}


def short_results(workers):
    """Digests of the result of every short call, by its name."""
    with set_workers(workers):
        return {name: digest(call()) for name, call in SHORT_CALLS.items()}


def first_call_in_threads(name):
    """Digests of one short call from each of eight threads, which start at once."""
    gate = threading.Barrier(8)

    def run(number):
        gate.wait(timeout=60)
        with set_workers([None, 1, -1][number % 3]):
            return digest(SHORT_CALLS[name]())

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(run, range(8)))


def wrong_short_results(count):
    """Of so many short calls from each of eight threads, on one worker or all, the names of those that differ from the serial ones."""
    expected = short_results(1)

    def run(number):
        draw = random.Random(number)
        names = draw.choices(sorted(SHORT_CALLS), k=count)
        wrong = []
        for name in names:
            with set_workers(draw.choice([None, 1, -1])):
                if digest(SHORT_CALLS[name]()) != expected[name]:
                    wrong.append(name)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(itertools.chain.from_iterable(pool.map(run, range(8))))


def results_of_forks(count):
    """The exit codes of so many children, forked after a parallel call, some by another thread, in which results must be the serial ones."""
    expected, codes = short_results(-1), []

    def spawn():
        child = os.fork()
        if child == 0:
            os._exit(0 if short_results(-1) == expected else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    for number in range(count):
        if number % 4 == 3:
            thread = threading.Thread(target=spawn)
            thread.start()
            thread.join()
        else:
            spawn()
        codes.append(0 if short_results(-1) == expected else 1)
    return codes


def results_in_forked_children(workers):
    """The same from two forked children, after the parent has used all its threads, and from the parent afterwards."""
    short_results(workers)
    with multiprocessing.get_context("fork").Pool(2) as pool:  # leaving it ends children that hang
        children = pool.map_async(short_results, [workers, workers]).get(timeout=100)
    return [*children, short_results(workers)]


def result_inside_a_prange(count):
    """Digests of a parallel call from every iteration of the user's own prange, which Numba's workqueue layer does not allow."""
    digests = [""] * count

    def call(k):
        with set_workers(-1):
            digests[k] = digest(SHORT_CALLS["dft"]())

    short_results(-1)

    @njit(parallel=True)
    def loop():
        for k in prange(count):
            with numba.objmode():
                call(k)

    loop()
    return digests


def results_by_workers(counts):
    """The same for each number of workers."""
    assert numba.get_num_threads() >= max(counts)
    return {count: results(count) for count in counts}


def in_new_process(function, argument, monkeypatch, **environment):
    """Give function(argument) of a new interpreter; fail if that dies."""
    monkeypatch.delenv("FASTSPECTRAL_WORKERS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, argument).result(timeout=200)


LAYERS = [
    pytest.param("default", id="layer of the package"),  # tbb where there is one
    pytest.param("omp", marks=pytest.mark.skipif(not find_spec("numba.np.ufunc.omppool"), reason="no omp here")),
    "workqueue",
]
layers = pytest.mark.parametrize("layer", LAYERS)
fork = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")


@pytest.fixture(scope="module")
def serial():
    return results(1)


def assert_same(actual, serial):
    assert actual.keys() == serial.keys()
    assert [name for name in serial if actual[name] != serial[name]] == []


def test_any_number_of_workers_gives_the_same_bits(serial, monkeypatch):
    """More workers than cores, and numbers that divide no size."""
    by_workers = in_new_process(results_by_workers, (1, 2, 3, 7), monkeypatch, NUMBA_NUM_THREADS="7")
    for actual in by_workers.values():
        assert_same(actual, serial)


def test_eight_threads(serial):
    for actual in results_in_threads(8):
        assert_same(actual, serial)


@layers
def test_eight_threads_of_a_new_process(layer, serial, monkeypatch):
    """They load the kernels and start Numba's threads at once, too."""
    for actual in in_new_process(
        results_in_threads, 8, monkeypatch, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER=layer
    ):
        assert_same(actual, serial)


@pytest.fixture(scope="module", params=LAYERS)
def on_layer(request):
    """Give what a function gives in one process for all tests of a layer."""
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("FASTSPECTRAL_WORKERS", raising=False)
            patch.setenv("NUMBA_NUM_THREADS", "2")
            patch.setenv("NUMBA_THREADING_LAYER", request.param)
            pool.submit(os.getpid).result(timeout=200)  # starts it
        yield lambda function, argument: pool.submit(function, argument).result(timeout=200)


def test_short_calls_of_eight_threads(on_layer):
    assert on_layer(wrong_short_results, 300) == []


@fork
def test_twenty_forks_after_a_parallel_call(on_layer):
    assert on_layer(results_of_forks, 20) == [0] * 40


@fork
def test_forked_children_after_a_parallel_call(on_layer):
    assert on_layer(results_in_forked_children, 2) == [short_results(1)] * 3


def test_operators_inside_the_users_prange(on_layer):
    assert on_layer(result_inside_a_prange, 8) == [short_results(1)["dft"]] * 8


@pytest.mark.slow
@layers
def test_first_call_of_eight_threads_in_twenty_processes(layer, monkeypatch, tmp_path):
    """They compile the same kernels at once."""
    expected, names = short_results(1), itertools.cycle(SHORT_CALLS)
    for number, name in zip(range(20), names, strict=False):
        settings = {"NUMBA_NUM_THREADS": "2", "NUMBA_THREADING_LAYER": layer}
        empty = str(tmp_path / str(number))
        results = in_new_process(first_call_in_threads, name, monkeypatch, NUMBA_CACHE_DIR=empty, **settings)
        assert results == [expected[name]] * 8


def test_spawned_process_after_a_parallel_call(serial, monkeypatch):
    results(-1)
    assert_same(in_new_process(results, -1, monkeypatch), serial)


@pytest.mark.parametrize(
    "start", [method for method in ("spawn", "forkserver") if method in multiprocessing.get_all_start_methods()]
)
def test_processes_of_multiprocessing(start):
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map_async(short_results, [1, None, -1]).get(timeout=100) == [short_results(1)] * 3


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend):
    joblib = pytest.importorskip("joblib")
    calls = (joblib.delayed(short_results)(workers) for workers in (1, None, -1, -1))
    assert joblib.Parallel(2, backend=backend, timeout=100)(calls) == [short_results(1)] * 4


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_dask(scheduler):
    dask = pytest.importorskip("dask")
    calls = [dask.delayed(short_results)(workers) for workers in (1, None, -1, -1)]
    assert dask.compute(*calls, scheduler=scheduler, num_workers=2) == (short_results(1),) * 4


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process cannot be held to one CPU here")
def test_process_on_one_cpu_ends_after_a_fork():
    """With tbb's layer started it would hang there."""
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np, fastspectral
x = np.ones((1000, 64, 2))
fastspectral.dft(x)
child = os.fork()
if child == 0:
    fastspectral.dft(x)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    hidden = ("NUMBA_THREADING_LAYER", "FASTSPECTRAL_WORKERS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {"NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "0\n"


@njit
def filtered(frame, spectrum, gains, plan):
    """Multiply the spectrum of one frame, in place."""
    kernels.rfft_lines(frame, spectrum, 1.0, plan)
    spectrum[:] *= gains
    kernels.irfft_lines(spectrum, frame, 1.0 / plan.n, plan)


@njit
def filter_frames(frames, gains, plan):
    for t in range(frames.shape[0]):
        filtered(frames[t : t + 1], np.empty((1, gains.size), np.complex128), gains, plan)


@njit(parallel=True)
def filter_frames_parallel(frames, gains, plan):
    for t in prange(frames.shape[0]):
        filtered(frames[t : t + 1], np.empty((1, gains.size), np.complex128), gains, plan)


@pytest.mark.parametrize("n", [64, 400, 441, 2018])
def test_kernels_inside_the_users_prange(n):
    frames, gains, plan = numbers(200, n), np.linspace(1, 0, n // 2 + 1), fft_plan(n, np.float64)
    want = np.fft.irfft(np.fft.rfft(frames) * gains, n)
    one, all_ = frames.copy(), frames.copy()
    filter_frames(one, gains, plan)
    filter_frames_parallel(all_, gains, plan)
    assert np.linalg.norm(one - want) <= 4 * 2.0**-52 * np.log2(n) * np.linalg.norm(want)
    np.testing.assert_array_equal(all_, one)
