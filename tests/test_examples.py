"""Every example runs as its docstring says, and prints and writes what it promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(tmp_path):
    """Run an example in a folder of its own, where nothing but what it writes is; give what it prints."""

    def run(name, *arguments):
        done = subprocess.run(
            [sys.executable, "-W", "error", EXAMPLES / name, *arguments],
            cwd=tmp_path,
            env={**os.environ, "MPLCONFIGDIR": str(tmp_path / ".matplotlib")},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return run


def written(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def assert_picture(folder, name="picture.png"):
    """The only file is a PNG with something in it."""
    assert written(folder) == [name]
    assert (folder / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert (folder / name).stat().st_size > 10_000


def test_every_example_has_a_test():
    tested = {re.sub("^test_", "", name) for name in globals() if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("[!_]*.py")} <= tested


def test_whisper_frontend(run, tmp_path):
    printed = run("whisper_frontend.py")
    assert "2.68 s of speech, features (1, 80, 3000)" in printed
    line = r"^{} +(\S+) ms   largest error (\S+)$"
    slow = re.search(line.format("onnxruntime"), printed, re.MULTILINE)
    fast = re.search(line.format("fastspectral"), printed, re.MULTILINE)
    assert float(fast[1]) < float(slow[1])
    assert float(fast[2]) < 1e-4 < float(slow[2])
    assert re.search(r"^1 +fastspectral +STFT", printed, re.MULTILINE)
    assert "picture: whisper_features.png" in printed
    assert_picture(tmp_path, "whisper_features.png")


def test_onnx_node(run, tmp_path):
    printed = run("onnx_node.py")
    errors = dict(re.findall(r"^(.+?) +largest error (\S+)$", printed, re.MULTILINE))
    assert list(errors) == ["backend.run_node", "ReferenceEvaluator", "InferenceSession", "onnxruntime alone"]
    assert all(float(error) < 1e-6 for error in list(errors.values())[:3])
    assert re.search(r"^0 +fastspectral +DFT signal", printed, re.MULTILINE)
    assert written(tmp_path) == []


def test_own_njit(run, tmp_path):
    printed = run("own_njit.py")
    rows = re.findall(r"heard +(\S+) Hz   true +(\S+) Hz$", printed, re.MULTILINE)
    assert len(rows) == 9
    assert all(abs(float(heard) - float(true)) <= 16000 / 512 for heard, true in rows)
    assert written(tmp_path) == []


def test_speech_spectrogram(run, tmp_path):
    assert run("speech_spectrogram.py", "picture.png") == "picture: picture.png\n"
    assert_picture(tmp_path)


def test_denoise(run, tmp_path):
    printed = run("denoise.py", "picture.png")
    noisy, denoised = re.findall(r"^(?:noisy|denoised) +(\S+) dB$", printed, re.MULTILINE)
    assert float(noisy) == 5.0
    assert float(denoised) > 12
    (error,) = re.findall(r"largest error (\S+)$", printed, re.MULTILINE)
    assert float(error) < 8 * 2.0**-23  # of a signal between -1 and 1
    assert_picture(tmp_path)


def test_upsample_image(run, tmp_path):
    ratios = [float(ratio) for ratio in re.findall(r"(\S+) dB$", run("upsample_image.py", "picture.png"), re.MULTILINE)]
    nearest, bilinear, learned = ratios
    assert nearest + 0.3 < bilinear
    assert bilinear + 0.3 < learned
    assert_picture(tmp_path)


def test_robot_voice(run, tmp_path):
    printed = run("robot_voice.py", "picture.png", "--sound", "robot.wav")
    assert "stride 4: (1, 79, 43040)" in printed
    assert written(tmp_path) == ["picture.png", "robot.wav"]
    (tmp_path / "robot.wav").unlink()
    assert_picture(tmp_path)


def test_many_files_dask(run, tmp_path):
    printed = run("many_files_dask.py").splitlines()
    assert printed == [
        "2 workers",
        "rfft       (8, 16001)  equal",
        "stft       (8, 198, 201, 2)  equal",
        "whisper80  (4, 2, 1, 80, 3000)  equal",
    ]
    assert written(tmp_path) == []
