"""What ran where: the records that `InferenceSession.report` gives."""

from collections.abc import Iterable
from typing import NamedTuple


class Record(NamedTuple):
    """One node of a model, and who computes it.

    Attributes
    ----------
    node : str
        Name of the node; of a node without one, its first output.
    op_type : str
        Operator, such as ``"STFT"``.
    runner : str
        ``"fastspectral"`` or ``"onnxruntime"``.
    part : int or None
        Number of the part of the model in which it runs, in the order in which the parts run; a node that fastspectral
        computes is a part of its own.  None if it ran once, when the session was created.
    seconds : float or None
        Time of the last run: of the node where fastspectral computes it, of its whole part where onnxruntime does.
        None before the first run, and if the last run did not need the part.
    note : str
        Why a node that fastspectral could compute stays with onnxruntime; that its result is constant.
    """

    node: str
    op_type: str
    runner: str
    part: int | None
    seconds: float | None
    note: str


class Report(tuple[Record, ...]):
    """Records of all nodes of a model in the order in which they run; printing it shows a table by part.

    The table has a line for every node of fastspectral and every node with a note, and one line that counts the other
    nodes of a part.
    """

    __slots__ = ()

    def __str__(self) -> str:
        rows = [("part", "runner", "node", "ms", "note"), *map(_row, self._shown())]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in lines)

    def _shown(self) -> Iterable[Record]:
        """Give the records of single lines, and for the rest of each part a record whose `node` counts its nodes."""
        plain: dict[int | None, list[Record]] = {}
        for record in self:
            if record.runner == "onnxruntime" and not record.note:
                plain.setdefault(record.part, []).append(record)
        for record in self:
            if record.runner == "fastspectral" or record.note:
                yield record
            elif record is plain[record.part][0]:
                rest = plain[record.part]
                if len(rest) == 1:
                    yield record
                else:
                    yield record._replace(node=f"{len(rest)} nodes", op_type="")


def _row(record: Record) -> tuple[str, ...]:
    return (
        "once" if record.part is None else str(record.part),
        record.runner,
        f"{record.op_type} {record.node}".strip(),
        "-" if record.seconds is None else f"{1e3 * record.seconds:.3f}",
        record.note,
    )
