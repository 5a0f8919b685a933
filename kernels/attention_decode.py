"""One decode step of grouped-query attention with a KV cache.

The new token's key and value are written to the caches at position seq_len, the number of tokens cached.
Its queries then attend to positions 0..seq_len: out = softmax(q @ k^T / sqrt(head_dim)) @ v, where
HEADS / KV_HEADS consecutive query heads share one key and value head.
"""

import math
from typing import Any

import torch

from golden_tasks import Case, CppKernel, ScalarSpec, TensorSpec

HEADS, KV_HEADS, HEAD_DIM = 8, 2, 64
MAX_SEQ, SEQ_LEN = 256, 100
TILE_SEQ = 32


def build_specs() -> list[TensorSpec | ScalarSpec]:
    return [
        TensorSpec("q", (HEADS, HEAD_DIM), torch.float32, torch.randn),
        TensorSpec("k_new", (KV_HEADS, HEAD_DIM), torch.float32, torch.randn),
        TensorSpec("v_new", (KV_HEADS, HEAD_DIM), torch.float32, torch.randn),
        TensorSpec("k_cache", (KV_HEADS, MAX_SEQ, HEAD_DIM), torch.float32, torch.randn, is_output=True),
        TensorSpec("v_cache", (KV_HEADS, MAX_SEQ, HEAD_DIM), torch.float32, torch.randn, is_output=True),
        ScalarSpec("seq_len", torch.int32, SEQ_LEN),
        TensorSpec("out", (HEADS, HEAD_DIM), torch.float32, is_output=True),
    ]


def golden_attention_decode(values: dict[str, Any]) -> None:
    q, k_cache, v_cache, seq_len = (values[name] for name in ("q", "k_cache", "v_cache", "seq_len"))
    k_cache[:, seq_len] = values["k_new"]
    v_cache[:, seq_len] = values["v_new"]

    group = q.shape[0] // k_cache.shape[0]
    k = k_cache[:, : seq_len + 1].repeat_interleave(group, dim=0)
    v = v_cache[:, : seq_len + 1].repeat_interleave(group, dim=0)
    scores = torch.einsum("hd,hsd->hs", q, k) / math.sqrt(q.shape[1])
    values["out"][:] = torch.einsum("hs,hsd->hd", torch.softmax(scores, dim=-1), v)


case = Case(
    "attention_decode",
    specs=build_specs,
    golden=golden_attention_decode,
    programs={"cpu": CppKernel("attention_decode.cpp", function="attention_decode")},
    tiles={"TILE_SEQ": TILE_SEQ},
    rtol=1e-4,
    atol=1e-5,
)

if __name__ == "__main__":
    case.main()
