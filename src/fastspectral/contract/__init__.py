"""The contract of the kernels: which operators there are, what they take and give, and kernels that are called by it."""
