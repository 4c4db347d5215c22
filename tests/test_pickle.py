"""Plans and sessions go to other processes, where the addresses that they hold would be of no use."""

import concurrent.futures
import hashlib
import multiprocessing
import pickle
from importlib.util import find_spec

import numpy as np
import onnxruntime
import pytest
from numba import njit
from onnx import helper

from fastspectral import conv_transpose_plan, fft_plan, kernels, stft_plan
from fastspectral.onnx import InferenceSession
from onnx_models import make_model, tensor

RNG = np.random.default_rng(20260117)
LINES = RNG.standard_normal((5, 210))
X = RNG.standard_normal((1, 6, 21))
SIGNAL = RNG.standard_normal((2, 64)).astype(np.float32)


# Cached, for every process needs them.
@njit(cache=True)
def spectra(plan):
    out = np.empty((LINES.shape[0], plan.bins), np.complex128)
    kernels.stft_frames(LINES, out.reshape((LINES.shape[0], 1, plan.bins)), plan)
    return out


@njit(cache=True)
def transformed(plan):
    out = np.empty((LINES.shape[0], plan.n // 2 + 1), np.complex128)
    kernels.rfft_lines(LINES, out, 0.5, plan)
    return out


@njit(cache=True)
def convolved(plan, shape):
    out = np.empty(shape)
    kernels.conv_transpose_planned(X, out, plan)
    return out


USES = {
    "FFTPlan": lambda plan: transformed(plan),
    "STFTPlan": lambda plan: spectra(plan),
    "ConvTransposePlan": lambda plan: plan(X),
    "ConvTransposeArrays": lambda plan: convolved(plan, tuple(plan.output_shape.tolist())),
    "InferenceSession": lambda session: session.run(None, {"x": SIGNAL})[0],
}


def use(given):
    """Digest of what comes of each object, by its name."""
    return {name: digest(USES[name.split()[0]](one)) for name, one in given.items()}


def digest(result):
    return hashlib.sha256(result.tobytes()).hexdigest()


def model():
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("STFT", ["a", "step", "window"], ["b"]),
        helper.make_node("Abs", ["b"], ["y"]),
    ]
    constants = {"step": np.int64(8), "window": np.hanning(16).astype("f4")}
    return make_model(nodes, [tensor("x", ["b", 64])], ["y"], constants).SerializeToString()


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    w, b = RNG.standard_normal((6, 2, 5)), RNG.standard_normal(6)
    plan = conv_transpose_plan(w, b, group=3, strides=[2], auto_pad="SAME_UPPER")
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    path.write_bytes(model())
    return {
        "FFTPlan": fft_plan(210, float),
        "STFTPlan": stft_plan(3, np.hanning(210), dtype=float),
        "ConvTransposePlan": plan,
        "ConvTransposeArrays": plan.for_njit(X.shape),
        "InferenceSession of bytes": InferenceSession(model()),
        "InferenceSession of a path": InferenceSession(path, providers=["CPUExecutionProvider"]),
    }


@pytest.fixture(scope="module")
def expected(given):
    return use(given)


def test_unpickled_in_the_same_process(given, expected):
    assert use(pickle.loads(pickle.dumps(given))) == expected


@pytest.mark.parametrize(
    "start", [method for method in ("spawn", "forkserver") if method in multiprocessing.get_all_start_methods()]
)
def test_multiprocessing(start, given, expected):
    # an executor, unlike a pool, tells at once that a process died
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(start)) as pool:
        assert pool.submit(use, given).result(timeout=200) == expected


@pytest.mark.skipif(not find_spec("joblib"), reason="no joblib here")
def test_loky(given, expected):
    import joblib

    assert joblib.Parallel(2, backend="loky", timeout=200)([joblib.delayed(use)(given)]) == [expected]


@pytest.mark.skipif(not find_spec("dask"), reason="no dask here")
def test_threads_of_dask(given, expected):
    import dask

    calls = [dask.delayed(use)(given, dask_key_name=f"use {number}") for number in range(4)]
    assert dask.compute(*calls, scheduler="threads", num_workers=2) == (expected,) * 4


def test_a_relative_path_is_that_of_the_process_that_made_the_session(tmp_path, monkeypatch, expected):
    (tmp_path / "model.onnx").write_bytes(model())
    monkeypatch.chdir(tmp_path)
    session = InferenceSession("model.onnx")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = {"InferenceSession of a path": pickle.loads(pickle.dumps(session))}
    assert use(again)["InferenceSession of a path"] == expected["InferenceSession of a path"]


def test_arguments_of_a_session_are_kept():
    arguments = {
        "providers": ["CPUExecutionProvider"],
        "provider_options": [{}],
        "disabled_optimizers": ["MatMulAddFusion"],
    }
    again = pickle.loads(pickle.dumps(InferenceSession(model(), None, **arguments)))
    assert again._session_arguments == arguments


def test_session_options_cannot_be_pickled():
    """Nobody can read all that they hold."""
    with pytest.raises(TypeError, match="SessionOptions"):
        pickle.dumps(InferenceSession(model(), onnxruntime.SessionOptions()))
