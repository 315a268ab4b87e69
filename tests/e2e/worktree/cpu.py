"""Lets megatron-core train on processors: a CUDA device becomes the CPU, and CUDA's own state becomes nothing.

Only the makers of tensors are wrapped, so that tracebacks of real operations show no frame of this module.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

CPU = torch.device("cpu")
MAKERS = ("tensor", "zeros", "ones", "empty", "full", "rand", "randn", "arange", "randint", "zeros_like", "ones_like",
          "empty_like", "full_like")  # fmt: skip


def pretend_cuda() -> None:
    for name in MAKERS:
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    torch.Tensor.to = _moved_to_cpu(torch.Tensor.to)
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_, **__: self
    torch.Tensor.type = _as_cuda(torch.Tensor.type)
    _quiet_cuda()


def _device(named: Any) -> Any:
    if isinstance(named, bool):
        return named
    if isinstance(named, int) or str(named).startswith("cuda"):
        return CPU
    return named


def _on_cpu(make: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(make)
    def made(*values: Any, **options: Any) -> Any:
        if "device" in options:
            options["device"] = _device(options["device"])
        options.pop("pin_memory", None)
        return make(*values, **options)

    return made


def _moved_to_cpu(move: Callable[..., Any]) -> Callable[..., Any]:
    def moved(self: Any, *values: Any, **options: Any) -> Any:
        if values and isinstance(values[0], str | torch.device | int):
            values = (_device(values[0]), *values[1:])
        if "device" in options:
            options["device"] = _device(options["device"])
        return move(self, *values, **options)

    return moved


def _as_cuda(name_of: Callable[..., Any]) -> Callable[..., Any]:
    """megatron-core tells dtypes by names such as `torch.cuda.FloatTensor`."""

    def named(self: Any, *values: Any, **options: Any) -> Any:
        found = name_of(self, *values, **options)
        return found.replace("torch.", "torch.cuda.", 1) if isinstance(found, str) else found

    return named


class _Generators:
    def __getitem__(self, index: int) -> Any:
        return torch.default_generator


class _Stream:
    def wait_stream(self, *_: Any) -> None: ...

    def synchronize(self) -> None: ...


def _nothing() -> Callable[..., None]:
    """Another one for each name: torch keeps a table of its functions by identity."""
    return lambda *_, **__: None


def _quiet_cuda() -> None:
    stream = _Stream()
    replaced: dict[str, Any] = {
        "current_device": lambda: CPU,
        "default_generators": _Generators(),
        "current_stream": lambda *_: stream,
        "default_stream": lambda *_: stream,
        "stream": lambda _: contextlib.nullcontext(),
        "FloatTensor": torch.FloatTensor,
        "IntTensor": torch.IntTensor,
        "LongTensor": torch.LongTensor,
    }
    replaced |= {name: _nothing() for name in ("set_device", "synchronize", "empty_cache", "_lazy_init")}
    for name, value in replaced.items():
        setattr(torch.cuda, name, value)
    states: dict[str, Any] = {
        "get_rng_state": lambda *_, **__: torch.get_rng_state(),
        "set_rng_state": lambda state, *_, **__: torch.set_rng_state(state),
        "manual_seed": _nothing(),
        "manual_seed_all": _nothing(),
    }
    for name, value in states.items():
        setattr(torch.cuda, name, value)
        setattr(torch.cuda.random, name, value)
    torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop = _nothing(), _nothing()
