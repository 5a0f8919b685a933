"""The platform `cpu`: C++17 kernels built by the host compiler behind generated orchestration code."""

from golden_tasks.backends.cpu.backend import CpuBackend
from golden_tasks.backends.cpu.kernel import CppKernel

__all__ = ["CppKernel", "CpuBackend"]
