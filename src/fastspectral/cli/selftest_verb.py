"""``selftest``: the packaged cases, for bug reports."""

import argparse
from collections.abc import Iterator

from fastspectral.cli.terminal import progress, say
from fastspectral.contract.cases import Case, cases, error_eps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    parser.add_argument("--verbose", action="store_true", help="a line for every call, not only for those that fail")


def act(arguments: argparse.Namespace) -> int:
    """Compute every case by every variant that is possible; 1 if an error is above its bound."""
    calls = failed = 0
    chosen = cases("test")
    for case in progress(chosen, "selftest", len(chosen)):
        for variant, outcome, right in _outcomes(case):
            calls, failed = calls + 1, failed + (not right)
            if arguments.verbose or not right:
                verdict = "ok  " if right else "FAIL"
                say(f"{verdict} {case.id}-{case.kernel.metadata.since}, {case.name}, {variant}: {outcome}")
    say(f"{len(chosen)} cases, {calls} calls, {failed or 'none'} failed")
    return 1 if failed else 0


def _outcomes(case: Case) -> Iterator[tuple[str, str, bool]]:
    """Of every variant its name, what came of it and whether that is right."""
    try:
        arrays = case.arrays()
    except ValueError as error:  # no ml_dtypes
        yield "any variant", f"left out, as {error}", True
        return
    kernel, exact, bound = case.kernel, case.expected(arrays), case.bound or 0
    for variant in kernel.operator.variants:
        how = {**arrays, **case.attributes, "variant": variant}
        if kernel.explain(**how).variant != variant:
            continue  # not possible for this case, or on this machine
        try:
            (result,) = kernel(**how).values()
        except Exception as error:  # whatever it is, the other cases are of interest
            yield variant, f"{type(error).__name__}: {error}", False
            continue
        eps = error_eps(result, exact) if result.shape == exact.shape else float("inf")
        yield variant, f"error {eps:.2g} eps, allowed {bound:g}", eps <= bound
