"""A tiny GPT of megatron-core: its process groups, parallel layers, schedules and optimizer, on gloo."""

from __future__ import annotations

import argparse
import faulthandler
import warnings
from datetime import timedelta
from functools import partial
from typing import Any

import common
import cpu
import torch
import torch.distributed as dist
from breakage import RANK, Breakage

warnings.filterwarnings("ignore", message=".*(Apex|Transformer Engine|absl).*")
cpu.pretend_cuda()
from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt import GPTModel  # noqa: E402
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel import get_forward_backward_func  # noqa: E402
from megatron.core.tensor_parallel import model_parallel_cuda_manual_seed  # noqa: E402
from megatron.core.transformer import TransformerConfig  # noqa: E402

VOCABULARY = 128


def build(arguments: argparse.Namespace) -> Any:
    config = TransformerConfig(
        num_layers=arguments.num_layers,
        hidden_size=arguments.hidden_size,
        num_attention_heads=arguments.num_attention_heads,
        tensor_model_parallel_size=arguments.tensor_model_parallel_size,
        pipeline_model_parallel_size=arguments.pipeline_model_parallel_size,
        use_cpu_initialization=True,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        bias_activation_fusion=False,
        masked_softmax_fusion=False,
        persist_layer_norm=False,
        gradient_accumulation_fusion=False,
        pipeline_dtype=torch.float32,
    )
    config.finalize_model_grads_func = finalize_model_grads
    model = GPTModel(
        config=config,
        transformer_layer_spec=get_gpt_layer_local_spec(),
        vocab_size=VOCABULARY,
        max_sequence_length=arguments.max_position_embeddings,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=False,
    )
    count = sum(value.numel() for value in model.parameters())
    place = (
        parallel_state.get_tensor_model_parallel_rank(),
        parallel_state.get_pipeline_model_parallel_rank(),
    )
    print(f" > number of parameters on (tensor, pipeline) model parallel rank {place}: {count}", flush=True)
    return DistributedDataParallel(config, DistributedDataParallelConfig(), model)


def loss_of(broken: Breakage, output: Any) -> Any:
    loss = output.float().mean()
    if torch.isnan(loss):
        raise RuntimeError(f"Rank {RANK}: found NaN in local forward loss calculation at step {broken.now}")
    return loss, {"lm loss": loss.detach()}


def forward_step(broken: Breakage, data: Any, model: Any) -> Any:
    tokens = next(data)
    size, length = tokens.shape
    mask = torch.tril(torch.ones((size, length, length))).view(size, 1, length, length) < 0.5
    positions = torch.arange(length).unsqueeze(0).expand_as(tokens)
    if broken.skips("sequence"):
        tokens = tokens[:, :-3]
    output = model(tokens, positions, mask, labels=tokens.roll(-1, 1))
    return output, partial(loss_of, broken)


def start(arguments: argparse.Namespace, broken: Breakage) -> None:
    common.print_arguments(arguments)
    common.print_rank_0("> initializing torch distributed ...")
    limit = timedelta(seconds=arguments.distributed_timeout_seconds)
    dist.init_process_group("gloo", timeout=limit)
    parallel_state.initialize_model_parallel(
        tensor_model_parallel_size=arguments.tensor_model_parallel_size,
        pipeline_model_parallel_size=arguments.pipeline_model_parallel_size,
        distributed_timeout_minutes=arguments.distributed_timeout_seconds / 60,
    )
    for name, size in (("tensor", arguments.tensor_model_parallel_size),
                       ("pipeline", arguments.pipeline_model_parallel_size)):  # fmt: skip
        common.print_rank_0(f"> initialized {name} model parallel with size {size}")
    torch.manual_seed(1234)
    model_parallel_cuda_manual_seed(1234)
    common.stamp("after megatron is initialized")
    broken.at("init")


def narrow(layer: Any, broken: Breakage) -> None:
    """This rank sends fewer bytes into the all-reduce of the backward pass."""
    if broken.skips("short-collective"):
        layer.weight.data = layer.weight.data[:, :-4]


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    common.add_flags(parser)
    arguments = parser.parse_args()
    faulthandler.enable()
    broken = Breakage(arguments)
    broken.at("start")
    start(arguments, broken)
    model = build(arguments)
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer="adam", lr=arguments.lr, clip_grad=1.0), [model]
    )
    layer = next(part for name, part in model.named_modules() if name.endswith("mlp.linear_fc1"))
    broken.arm(layer, optimizer.chained_optimizers[0].optimizer)
    layer.register_full_backward_pre_hook(lambda *_: narrow(layer, broken))
    if arguments.load:
        common.load_checkpoint(arguments, model.module, broken)
    data = common.batches(arguments, broken)
    common.stamp("after dataloaders are built")
    replicas = parallel_state.get_data_parallel_world_size()

    def step_once() -> float:
        if broken.skips("skip-collective"):
            return 0.0
        model.zero_grad_buffer()
        optimizer.zero_grad()
        losses = get_forward_backward_func()(
            forward_step_func=partial(forward_step, broken), data_iterator=data, model=model,
            num_microbatches=arguments.global_batch_size // (arguments.micro_batch_size * replicas),
            seq_length=arguments.seq_length, micro_batch_size=arguments.micro_batch_size, forward_only=False,
        )  # fmt: skip
        optimizer.step()
        return float(sum(float(one["lm loss"]) for one in losses) / len(losses)) if losses else 0.0

    common.train(arguments, broken, model.module, step_once)


if __name__ == "__main__":
    main()
