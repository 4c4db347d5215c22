"""SciPy's and NumPy's own tests, run on `fastspectral.fft` (see `foreign_suites.py`)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Tests that are not run, each with the reason.
DESELECTED = {
    "scipy.fft.tests": {
        "test_multiprocess[irfft]": "its child processes are new ones, on SciPy's backend; results that are 0 but for rounding are compared without tolerance",
    },
    "scipy.signal.tests.test_spectral": {
        "test_roundtrip_nola_not_cola": "two routes of SciPy's are compared to an ulp; the last bit of ours depends on how lines lie in memory",
        "test_roundtrip_float32": "the same",
        "test_roundtrip_scaling": "results that are 0 but for rounding are compared with 0 without tolerance",
    },
    "scipy.signal.tests.test_signaltools": {},
    "numpy.fft.tests.test_pocketfft": {
        "test_s_axes_none": "NumPy warns that it will not take s without axes any more; SciPy takes it, and so do we",
        "test_s_axes_none_2D": "the same",
        "test_s_contains_none": "NumPy warns that it will not take None in s any more; we do not",
    },
}
OPTIONS = {"scipy.signal.tests.test_signaltools": ["-k", "fft"]}


@pytest.mark.slow
@pytest.mark.parametrize("suite", DESELECTED)
def test_passes(suite, tmp_path):
    variables = {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "FFT_IN_PLACE_OF": suite.split(".")[0],
        "DESELECT": ",".join(DESELECTED[suite]),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "foreign_suites",
        "-p",
        "no:cacheprovider",
        "--pyargs",
        suite,
    ]
    done = subprocess.run(
        [*command, *OPTIONS.get(suite, [])],
        cwd=tmp_path,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    (passed,) = re.findall(r"^(\d+) passed", done.stdout, re.MULTILINE)
    assert int(passed) > 100
