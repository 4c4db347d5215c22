"""What a user waits for before anything is warm: the import, and the first call with an empty and with a filled cache.

Each sample is a new interpreter.
"""

import os
import subprocess
import sys
import tempfile


class Import:
    number, repeat = 1, 5

    def timeraw_numba(self):
        """The larger part of the next."""
        return "import numba"

    def timeraw_fastspectral(self):
        return "import fastspectral"


CALLS = {
    "dft": "fastspectral.dft(numpy.ones((1000, 400, 2), numpy.float32))",
    "stft": "fastspectral.stft(numpy.ones((1, 16000), numpy.float32), 160, numpy.hanning(400))",
    "conv_transpose": "fastspectral.conv_transpose(numpy.ones((1, 8, 64), 'f'), numpy.ones((8, 8, 4), 'f'), strides=[2])",
}
IMPORTS = "import fastspectral, numpy"


class FirstCall:
    params = list(CALLS)
    param_names = ("call",)
    number, repeat, timeout = 1, 3, 300

    def setup(self, call):
        self.folder = tempfile.TemporaryDirectory()
        environment = os.environ | {"NUMBA_CACHE_DIR": self.folder.name}
        subprocess.run([sys.executable, "-c", f"{IMPORTS}; {CALLS[call]}"], env=environment, check=True)

    def teardown(self, call):
        self.folder.cleanup()

    def timeraw_empty_cache(self, call):
        folder = "import os, tempfile; folder = tempfile.TemporaryDirectory()"
        return CALLS[call], f"{folder}; os.environ['NUMBA_CACHE_DIR'] = folder.name; {IMPORTS}"

    def timeraw_filled_cache(self, call):
        return CALLS[call], f"import os; os.environ['NUMBA_CACHE_DIR'] = {self.folder.name!r}; {IMPORTS}"
