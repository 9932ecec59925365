"""smoke-train: a small transformer learns a simple rule in bf16, and has to learn it as it always does.

    data and weights     drawn on the CPU from one seed, so they are the same on every machine
    loss curve           held against the one that was recorded (reference.py), window by window
    the same again       the first steps a second time, bit by bit: a GPU that computes two answers is broken

Tests: results of a real GPU in bench/results; tests/probes/test_without_a_gpu.py
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any, Final

from seatrial.probes.measuring import framework, nvml
from seatrial.probes.payloads import reference
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

SEED: Final = 20
VOCABULARY: Final = 64
WIDTH: Final = 256
HEADS: Final = 4
LAYERS: Final = 4
LENGTH: Final = 64
BATCH: Final = 64
RATE: Final = 6e-4
AGAIN_STEPS: Final = 40
WINDOW: Final = 25
"""The losses of so many steps are averaged before they are compared: a single step jumps about."""
LOSS_TOLERANCE: Final = 0.10
"""A window's mean may lie so far from the recorded one, in nats: other kernels round otherwise, and that spreads."""
WEIGHTS_TOLERANCE: Final = 0.02


def look(options: Options, notes: Notes) -> None:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it the library may add up in any order
    torch = framework.torch_with_gpu()
    with nvml.opened() as machine:
        torch.use_deterministic_algorithms(mode=True)
        try:
            for number in range(torch.cuda.device_count()):
                gpu = framework.seen_as(torch, machine, number)
                _look_at(torch, number, gpu.uuid if gpu else f"device {number}", options, notes)
        finally:
            torch.use_deterministic_algorithms(mode=False)


def _look_at(torch: Any, number: int, gpu: str, options: Options, notes: Notes) -> None:
    device = torch.device("cuda", number)
    begun = time.monotonic()
    losses, weights = train(torch, device, options.steps)
    seconds = time.monotonic() - begun
    notes.measure("steps-rate", options.steps / seconds, "steps/s", gpu=gpu)
    notes.measure("loss-first", losses[0], "nats", gpu=gpu)
    notes.measure("loss-last", losses[-1], "nats", gpu=gpu)
    notes.measure("weights-norm", weights, gpu=gpu)
    if not all(map(math.isfinite, (*losses, weights))):
        notes.breaks("loss", "a loss is not a number", gpu=gpu)
        return
    again, _ = train(torch, device, min(AGAIN_STEPS, options.steps))
    notes.measure("repeats", int(again == losses[: len(again)]), gpu=gpu)
    if again != losses[: len(again)]:
        step = next(step for step, (one, other) in enumerate(zip(again, losses, strict=False)) if one != other)
        notes.breaks("repeats", f"the same steps gave another loss, first in step {step}", gpu=gpu)
    compare(losses, weights, gpu, notes)


def compare(losses: list[float], weights: float, gpu: str, notes: Notes) -> None:
    """Hold a curve against the recorded one, as far as both go."""
    pairs = list(zip(windows(losses), reference.LOSSES, strict=False))
    if not pairs:
        notes.misses("loss-deviation", f"a comparison needs at least {WINDOW} steps", gpu=gpu)
        return
    deviation = max(abs(one - other) for one, other in pairs)
    notes.measure("loss-deviation", deviation, "nats", gpu=gpu)
    if deviation > LOSS_TOLERANCE:
        notes.breaks(
            "loss-deviation", f"{deviation:.3f} nats from the recorded curve; {LOSS_TOLERANCE} may be", gpu=gpu
        )
    if len(losses) != reference.STEPS:
        return  # the weights were recorded after so many steps
    off = abs(weights / reference.WEIGHTS_NORM - 1)
    notes.measure("weights-deviation", off, gpu=gpu)
    if off > WEIGHTS_TOLERANCE:
        notes.breaks(
            "weights-deviation", f"{off:.1%} from the recorded weights; {WEIGHTS_TOLERANCE:.0%} may be", gpu=gpu
        )


def record() -> None:
    """Print what reference.py keeps, from the first GPU."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch = framework.torch_with_gpu()
    torch.use_deterministic_algorithms(mode=True)
    losses, weights = train(torch, torch.device("cuda", 0), reference.STEPS)
    print(*(f"{each:.4f}" for each in windows(losses)), f"{weights:.3f}", sep="\n")


def windows(losses: list[float]) -> list[float]:
    """The mean of every full window."""
    return [sum(losses[at : at + WINDOW]) / WINDOW for at in range(0, len(losses) - WINDOW + 1, WINDOW)]


def train(torch: Any, device: Any, steps: int) -> tuple[list[float], float]:
    """The loss of each step, and the norm of all weights after the last."""
    drawing = torch.Generator().manual_seed(SEED)
    weights = _weights(torch, drawing, device)
    update = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.0)
    found = []
    for _ in range(steps):
        tokens = _batch(torch, drawing).to(device)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            guesses = _forward(torch, weights, tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(guesses.float().reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
        update.zero_grad(set_to_none=True)
        loss.backward()
        update.step()
        found.append(loss.detach())
    squares = sum(float(each.detach().double().pow(2).sum()) for each in weights)
    return [float(each) for each in found], math.sqrt(squares)


def _batch(torch: Any, drawing: Any) -> Any:
    """Sequences that follow a rule: each token is the one before it times an odd number, plus another."""
    factor = torch.randint(0, 4, (BATCH, 1), generator=drawing) * 2 + 1
    step = torch.randint(0, 8, (BATCH, 1), generator=drawing)
    tokens = [torch.randint(0, VOCABULARY, (BATCH, 1), generator=drawing)]
    for _ in range(LENGTH):
        tokens.append((tokens[-1] * factor + step) % VOCABULARY)
    return torch.cat(tokens, dim=1)


def _weights(torch: Any, drawing: Any, device: Any) -> list[Any]:
    def drawn(*shape: int, scale: float) -> Any:
        return (torch.randn(*shape, generator=drawing) * scale).to(device).requires_grad_()

    inner = 1 / math.sqrt(WIDTH)
    found = [drawn(VOCABULARY, WIDTH, scale=0.1), drawn(LENGTH, WIDTH, scale=0.1)]
    for _ in range(LAYERS):
        found += [drawn(WIDTH, 3 * WIDTH, scale=inner), drawn(WIDTH, WIDTH, scale=inner)]
        found += [drawn(WIDTH, 4 * WIDTH, scale=inner), drawn(4 * WIDTH, WIDTH, scale=inner / 2)]
    return found


def _forward(torch: Any, weights: list[Any], tokens: Any) -> Any:
    """Attention written out: what a library chooses for it may add up in any order."""
    norm: Callable[..., Any] = torch.nn.functional.layer_norm
    embedded, places = weights[:2]
    length = tokens.shape[1]
    state = torch.nn.functional.one_hot(tokens, VOCABULARY).float() @ embedded + places[:length]
    hidden = torch.full((length, length), -1e4, device=state.device).triu(1)
    for layer in range(LAYERS):
        mixing, joining, widening, narrowing = weights[2 + 4 * layer : 6 + 4 * layer]
        parts = (norm(state, (WIDTH,)) @ mixing).reshape(BATCH, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        shares = torch.softmax((query @ key.transpose(-1, -2)).float() / math.sqrt(WIDTH // HEADS) + hidden, dim=-1)
        state = state + (shares.to(value.dtype) @ value).transpose(1, 2).reshape(BATCH, length, WIDTH) @ joining
        state = state + torch.nn.functional.gelu(norm(state, (WIDTH,)) @ widening) @ narrowing
    return norm(state, (WIDTH,)) @ embedded.t()
