"""Layer normalisation of every row: y = (x - mean) / sqrt(var + 1e-5) * gamma + beta, biased variance."""

import torch

from golden_tasks import Case, CppKernel, TensorSpec

ROWS, COLS = 512, 256
EPS = 1e-5  # the same as in layer_norm.cpp
TILE_ROWS = 32
TILE_COLS = 64


def build_specs() -> list[TensorSpec]:
    return [
        TensorSpec("x", (ROWS, COLS), torch.float32, torch.randn),
        TensorSpec("gamma", (1, COLS), torch.float32, torch.randn),
        TensorSpec("beta", (1, COLS), torch.float32, torch.randn),
        TensorSpec("y", (ROWS, COLS), torch.float32, is_output=True),
    ]


def golden_layer_norm(values: dict[str, torch.Tensor]) -> None:
    x = values["x"]
    mean = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True, correction=0)
    values["y"][:] = (x - mean) / torch.sqrt(var + EPS) * values["gamma"] + values["beta"]


case = Case(
    "layer_norm",
    specs=build_specs,
    golden=golden_layer_norm,
    programs={"cpu": CppKernel("layer_norm.cpp", function="layer_norm")},
    tiles={"TILE_ROWS": TILE_ROWS, "TILE_COLS": TILE_COLS},
    rtol=1e-3,
    atol=1e-3,
)

if __name__ == "__main__":
    case.main()
