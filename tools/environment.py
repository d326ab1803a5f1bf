"""The environment in which notebooks are executed and tested, so that stored outputs are the same on every machine.

Sums of floating-point numbers depend on the order they are added in, and that depends on the processor. So the matrix
products run in one thread with the kernels of the first AVX2 processors, and NumPy does without AVX-512. What then
still differs between x86-64 machines is below the six digits a page prints.

``python tools/environment.py CMD ARGS…`` runs a command in this environment. With ``KERNELS=own`` set, the command gets
the kernels that OpenBLAS and NumPy choose for this processor, and all else as before: so one sees which numbers depend
on them. The tests heed ``KERNELS`` too; notebooks are always executed with the kernels named here.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

FIXED = {
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TQDM_DISABLE": "1",
    "SOURCE_DATE_EPOCH": "0", "GRU_FIGURES": "bare", "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}  # fmt: skip
KERNELS = ("avx2", "own")
CHOICE = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")  # the variables that choose kernels

# What this processor has and the first AVX2 processors did not. Naming a feature that a processor lacks makes NumPy
# warn, so a process of its own asks NumPy which of them are there.
_BEYOND_AVX2 = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*[f for f in __cpu_dispatch__ if __cpu_features__[f] and ("AVX512" in f or f == "X86_V4")])
"""


def fix(kernels: str = "avx2") -> None:
    """Set this process's variables, which those it starts inherit."""
    if kernels not in KERNELS:
        sys.exit(f"KERNELS must be {' or '.join(KERNELS)}; got {kernels!r}.")
    for name in CHOICE:
        os.environ.pop(name, None)
    os.environ.update(FIXED | (avx2() if kernels == "avx2" else {}))


def avx2() -> dict[str, str]:
    """What chooses the kernels of the first AVX2 processors; on another architecture nothing, it has none of them."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return {}
    clean = {k: v for k, v in os.environ.items() if not k.startswith("NPY_")}
    run = subprocess.run([sys.executable, "-c", _BEYOND_AVX2], env=clean, capture_output=True, text=True, check=True)
    features = run.stdout.strip()
    return {"OPENBLAS_CORETYPE": "Haswell"} | ({"NPY_DISABLE_CPU_FEATURES": features} if features else {})


def asked() -> str:
    """The kernels that the caller's environment asks for."""
    return os.environ.get("KERNELS") or "avx2"


def main(command: list[str]) -> None:
    """Become the command, in this environment."""
    if not command:
        sys.exit("usage: python tools/environment.py CMD ARGS…")
    fix(asked())
    if os.name == "nt":  # there, exec returns to the caller while the command still runs
        sys.exit(subprocess.call(command))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
