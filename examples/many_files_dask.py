"""Many recordings on a cluster: dask wraps the transforms, and its workers run the STFT and a real model on files.

    python examples/many_files_dask.py

The cluster is two processes on this machine; another one is the address of its scheduler in `Client`.  The recordings are clips of the speech.
Everything is computed a second time in this process: the results are equal in every bit.
"""

from importlib.resources import files

import dask
import dask.array as da
import numpy as np
from _speech import SPEECH, read_wave
from dask.array.fft import fft_wrap
from dask.distributed import Client, LocalCluster

import fastspectral
from fastspectral.onnx import InferenceSession

CLIPS, SAMPLES = 8, 32000
STEP = 160


def transforms(signals):
    """Give the lazy rfft and the lazy STFT of a dask array (clips, samples); the samples are one chunk."""
    window = fastspectral.hann_window(400)
    _, frames, bins, pair = fastspectral.stft_shape(signals.shape, STEP, window.shape)
    spectra = fft_wrap(fastspectral.fft.rfft)(signals, axis=1)
    stft = da.apply_gufunc(
        lambda signal, window: fastspectral.stft(signal, STEP, window),
        "(samples),(taps)->(frames,bins,pair)",
        signals,
        window,
        output_dtypes=signals.dtype,
        output_sizes={"frames": frames, "bins": bins, "pair": pair},
    )
    return spectra, stft


def log_mel(clips):
    """Features of Whisper for several files: a task of its own, with one session."""
    session = InferenceSession(files("onnx_asr.preprocessors") / "data" / "whisper80.onnx")
    feeds = [{"waveforms": clip[np.newaxis], "waveforms_lens": np.array([clip.size])} for clip in clips]
    return [session.run(["features"], feed)[0] for feed in feeds]


def main():
    """Compute on the cluster and here, and compare."""
    speech, _ = read_wave(SPEECH)
    clips = np.stack(
        [speech[start : start + SAMPLES] for start in np.linspace(0, len(speech) - SAMPLES, CLIPS).astype(int)]
    )
    lazy = transforms(da.from_array(clips, chunks=(2, -1)))
    tasks = np.split(clips, 4)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        print(f"{len(client.scheduler_info()['workers'])} workers")
        far = [*dask.compute(*lazy), np.array(client.gather(client.map(log_mel, tasks)))]
    here = [*dask.compute(*lazy, scheduler="synchronous"), np.array([log_mel(task) for task in tasks])]

    for name, there, same in zip(["rfft", "stft", "whisper80"], far, here, strict=True):
        print(f"{name:9}  {there.shape}  {'equal' if np.array_equal(there, same) else 'different'}")


if __name__ == "__main__":
    main()
