"""The packaged workloads, which ``python -m fastspectral bench`` has beside other libraries, by every variant of their kernels."""

from fastspectral.contract.cases import cases

CASES = {case.name: case for case in cases("bench")}
VARIANTS = sorted({variant for case in CASES.values() for variant in case.kernel.operator.variants})


class Variants:
    params = [list(CASES), VARIANTS]
    param_names = ["workload", "variant"]

    def setup(self, workload, variant):
        case = CASES[workload]
        self.kernel, self.values = case.kernel, {**case.arrays(), **case.attributes}
        possible = variant in self.kernel.operator.variants
        if not possible or self.kernel.explain(**self.values, variant=variant).variant != variant:
            raise NotImplementedError(f"{workload} cannot be computed by {variant}")
        self.time_kernel(workload, variant)

    def time_kernel(self, workload, variant):
        self.kernel(**self.values, variant=variant)
