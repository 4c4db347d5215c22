"""A drop-in for onnxruntime.InferenceSession that computes ONNX's spectral operators and ConvTranspose itself."""

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnx.external_data_helper import uses_external_data

from fastspectral.onnx.partition import bodies
from fastspectral.onnx.program import build, has_served_nodes, whole
from fastspectral.onnx.report import Report
from fastspectral.onnx.signature import NodeArg, check_feeds, metadata, node_arg

# Tells onnxruntime the folder of the external data of a model that it gets as bytes.
_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


class InferenceSession:
    """Run an ONNX model: its spectral nodes and ConvTranspose with fastspectral, all others with onnxruntime.

    It is used as `onnxruntime.InferenceSession` is.  The graph is cut at the nodes of DFT, STFT, HannWindow,
    HammingWindow, BlackmanWindow, MelWeightMatrix and ConvTranspose; each part between them is an onnxruntime session.
    Nodes inside the bodies of If, Loop and Scan and inside model-local functions stay with onnxruntime, and so does a
    node if a value that is no tensor (a sequence, an optional, a map) would have to leave onnxruntime to run it.  A
    served node that depends on constants only is computed once, here.

    A pickled session loads its model anew where it is unpickled, by the path or from the bytes that it was made of.
    onnxruntime's session options cannot be pickled, and a session that was given some cannot either.

    Parameters
    ----------
    path_or_bytes : str, os.PathLike or bytes
        Path of a model, or the model itself, serialised.  External data is looked for beside the path, for bytes in
        the working directory.
    sess_options : onnxruntime.SessionOptions, optional
        Handed to every onnxruntime session.  ``intra_op_num_threads``, where it is set, also bounds the threads of
        fastspectral.  If a part has external data, the folder of the model is noted in these options.
    providers : sequence of str or (str, dict), optional
        Execution providers, handed to every onnxruntime session.
    provider_options : sequence of dict, optional
        Handed to every onnxruntime session.
    **kwargs
        Handed to every onnxruntime session.

    Raises
    ------
    TypeError
        If `path_or_bytes` is neither a path nor bytes.
    ValueError
        If a served node has inputs or attributes that its operator does not know at the model's opset, or if one that
        depends on constants only is given bad ones.
    Exception
        What onnxruntime raises for a model that it cannot load.

    Examples
    --------
    >>> session = InferenceSession("whisper80.onnx")  # doctest: +SKIP
    >>> features, lengths = session.run(None, {"waveforms": x, "waveforms_lens": n})  # doctest: +SKIP
    >>> print(session.report())  # doctest: +SKIP
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: onnxruntime.SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(path_or_bytes, (str, os.PathLike, bytes)):
            raise TypeError(
                f"path_or_bytes must be a path or the bytes of a model, got {type(path_or_bytes).__name__} "
                "(a ModelProto gives its bytes by SerializeToString)"
            )
        given = path_or_bytes if isinstance(path_or_bytes, bytes) else Path(path_or_bytes).absolute()
        self._made_of = given, sess_options, providers, provider_options, kwargs
        self._session_arguments = {"providers": providers, "provider_options": provider_options, **kwargs}
        self._sess_options = sess_options
        self._seconds: dict[int, float] = {}

        model = None if _is_ort_format(path_or_bytes) else _load(path_or_bytes)
        if model is not None and has_served_nodes(model):
            self._providers = ["CPUExecutionProvider"]
            path = Path.cwd() / "model" if isinstance(path_or_bytes, bytes) else Path(path_or_bytes)
            self._take_cut(model, str(path.resolve().parent))
        else:
            self._take_whole(model, path_or_bytes)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: onnxruntime.RunOptions | None = None,
    ) -> list[Any]:
        """Compute outputs; several threads may do so at once.

        Parameters
        ----------
        output_names : sequence of str or None
            Outputs to give, and to compute: parts that they do not depend on are left out.  None or empty for all.
        input_feed : mapping of str to array
            A value for every input, and for those initialisers that are inputs as well if they are to be replaced.
            Contiguous arrays are not copied.
        run_options : onnxruntime.RunOptions, optional
            Handed to onnxruntime for every part.

        Returns
        -------
        list
            Arrays for tensors (bfloat16 as that of the package ml_dtypes), lists for sequences, dictionaries for maps.

        Raises
        ------
        TypeError
            If a tensor has another element type than the input.
        ValueError
            If `input_feed` lacks an input or names an unknown one, if a rank or a fixed dimension differs, if an output
            is unknown, and as fastspectral's operators do.
        Exception
            What onnxruntime raises when it runs a part.
        """
        feeds = check_feeds(input_feed, self._inputs, self._optional)
        known = [output.name for output in self._outputs]
        names = list(output_names) if output_names else known
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"output_names must be outputs of the model, which are {known}, got {unknown}")
        results, self._seconds = self._program.run(feeds, names, run_options)
        return results

    def report(self) -> Report:
        """Tell which node runs where, why, and how long it took in the last run; printing it shows a table."""
        seconds = self._seconds
        return Report(
            record if record.part is None else record._replace(seconds=seconds.get(record.part))
            for record in self._program.records
        )

    def get_inputs(self) -> Sequence[NodeArg]:
        """Give name, type and shape of every input that must be fed."""
        return self._inputs

    def get_outputs(self) -> Sequence[NodeArg]:
        """Give name, type and shape of every output."""
        return self._outputs

    def get_overridable_initializers(self) -> Sequence[NodeArg]:
        """Give name, type and shape of every input that has a default."""
        return self._optional

    def get_modelmeta(self) -> Any:
        """Give what the model says of itself: producer_name, graph_name, custom_metadata_map and so on."""
        return self._metadata

    def get_providers(self) -> Sequence[str]:
        """Give the execution providers that onnxruntime registered."""
        return self._providers

    def get_session_options(self) -> onnxruntime.SessionOptions:
        """Give the options of the onnxruntime sessions."""
        return self._sess_options or onnxruntime.SessionOptions()

    def __reduce__(self) -> tuple[Any, ...]:
        *arguments, keywords = self._made_of
        return functools.partial(InferenceSession, **keywords), tuple(arguments)

    def _take_whole(self, model: onnx.ModelProto | None, path_or_bytes: str | os.PathLike[str] | bytes) -> None:
        """Leave all to one onnxruntime session, which is made of what the user gave."""
        session = onnxruntime.InferenceSession(path_or_bytes, self._sess_options, **self._session_arguments)
        self._program = whole(session, model)
        self._inputs = [NodeArg(a.name, a.type, a.shape) for a in session.get_inputs()]
        self._optional = [NodeArg(a.name, a.type, a.shape) for a in session.get_overridable_initializers()]
        self._outputs = [NodeArg(a.name, a.type, a.shape) for a in session.get_outputs()]
        self._metadata: Any = session.get_modelmeta()
        self._providers = session.get_providers()

    def _take_cut(self, model: onnx.ModelProto, folder: str) -> None:
        """Cut the model at its served nodes."""
        if _has_external_data(model.graph):
            self._sess_options = _with_folder(self._sess_options, folder)

        def create(part: onnx.ModelProto) -> onnxruntime.InferenceSession:
            serialized = part.SerializeToString()
            session = onnxruntime.InferenceSession(serialized, self._sess_options, **self._session_arguments)
            self._providers = session.get_providers()
            return session

        workers = self._sess_options.intra_op_num_threads if self._sess_options else 0
        self._program = build(model, folder, create, workers or None)
        given = {tensor.name for tensor in model.graph.initializer}
        given.update(tensor.values.name for tensor in model.graph.sparse_initializer)
        self._inputs = [node_arg(value) for value in model.graph.input if value.name not in given]
        # Before IR version 4, initialisers had to be listed among the inputs and could not be replaced.
        overridable = given if model.ir_version >= 4 else set()
        self._optional = [node_arg(value) for value in model.graph.input if value.name in overridable]
        outputs = [node_arg(value) for value in model.graph.output]
        self._outputs = [
            output if output.type else NodeArg(output.name, self._program.types[output.name], []) for output in outputs
        ]
        self._metadata = metadata(model)


def _load(path_or_bytes: str | os.PathLike[str] | bytes) -> onnx.ModelProto:
    if isinstance(path_or_bytes, bytes):
        return onnx.load_model_from_string(path_or_bytes)
    return onnx.load_model(path_or_bytes, load_external_data=False)


def _is_ort_format(path_or_bytes: str | os.PathLike[str] | bytes) -> bool:
    """Tell whether a model is in onnxruntime's own format, a flatbuffer with the identifier ORTM after 4 bytes."""
    if isinstance(path_or_bytes, bytes):
        return path_or_bytes[4:8] == b"ORTM"
    return os.fspath(path_or_bytes).endswith(".ort")


def _with_folder(options: onnxruntime.SessionOptions | None, folder: str) -> onnxruntime.SessionOptions:
    """Give session options, those of the user if there are any, that say where external data is."""
    options = options or onnxruntime.SessionOptions()
    try:
        known = options.get_session_config_entry(_EXTERNAL_FOLDER)
    except RuntimeError:  # no such entry yet
        known = ""
    if known != folder:  # onnxruntime warns of every entry that is set again
        options.add_session_config_entry(_EXTERNAL_FOLDER, folder)
    return options


def _has_external_data(graph: onnx.GraphProto) -> bool:
    return any(map(uses_external_data, graph.initializer)) or any(
        _has_external_data(body) for node in graph.node for body in bodies(node)
    )
