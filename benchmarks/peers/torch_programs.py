# SPDX-License-Identifier: Apache-2.0
"""The programs for TorchScript, which compiles them from their source.

They are functions of a program's feeds, in their order, and stand in PROGRAMS
by the names that the other systems' programs give them.
"""

from typing import List, Tuple

import torch


@torch.jit.script
def _counter(n: int, one: int) -> int:
    i = 0
    while i < n:
        i += one
    return i


@torch.jit.script
def _muladds1(n: int, a: float, b: float) -> float:
    x = 0.0
    i = 0
    while i < n:
        x = x * a + b
        i += 1
    return x


@torch.jit.script
def _muladds8(n: int, a: float, b: float) -> float:
    x = 0.0
    i = 0
    while i < n:
        x = x * a + b
        x = x * a + b
        x = x * a + b
        x = x * a + b
        x = x * a + b
        x = x * a + b
        x = x * a + b
        x = x * a + b
        i += 1
    return x


@torch.jit.script
def _nested(n: int, b: float) -> float:
    x = 0.0
    i = 0
    while i < n:
        j = 0
        while j < 300:
            x = x + b
            j += 1
        i += 1
    return x


@torch.jit.script
def _cond_in_loop(n: int, a: float, b: float) -> float:
    x = 0.0
    i = 0
    while i < n:
        if i % 2 == 0:
            x = x + b
        else:
            x = x * a
        i += 1
    return x


@torch.jit.script
def _mandelbrot(n: int, p: float, q: float) -> Tuple[int, float, float]:
    i = 0
    x = 0.0
    y = 0.0
    while i < n and x * x + y * y < 4.0:
        t = x * x - y * y + p
        y = 2.0 * x * y + q
        x = t
        i += 1
    return i, x, y


@torch.jit.script
def _newton(n: int, v: float) -> float:
    x = 1.0
    i = 0
    while i < n:
        x = 0.5 * (x + v / x)
        i += 1
    return x


@torch.jit.script
def _power(n: int, x: torch.Tensor) -> torch.Tensor:
    y = torch.ones_like(x)
    for _ in range(n):
        y = y * x
    return y


@torch.jit.script
def _newton_nest(n: int, x: torch.Tensor) -> torch.Tensor:
    y = torch.ones_like(x)
    for _ in range(n):
        s = y + x
        y = y + 1.0
        for _ in range(10):
            y = 0.5 * (y + s / y)
    return y


@torch.jit.script
def _lstm(n: int, xs: torch.Tensor, w: torch.Tensor, b: torch.Tensor):
    h = torch.zeros(xs.size(1), b.size(0) // 4)
    c = torch.zeros_like(h)
    total = torch.zeros([])
    for t in range(n):
        z = torch.cat([xs[t], h], 1).matmul(w) + b
        i, g, f, o = z.chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        total = total + h.sum()
    return total


@torch.jit.script
def _layers(n: int, xs: torch.Tensor, ws: torch.Tensor):
    h: List[torch.Tensor] = []
    for k in range(ws.size(0)):
        h.append(torch.zeros_like(xs[0]))
    for t in range(n):
        below = xs[t]
        for k in range(ws.size(0)):
            below = torch.tanh(torch.cat([below, h[k]], 1).matmul(ws[k]))
            h[k] = below
    return h[len(h) - 1]


@torch.jit.script
def _chain(n: int, x: torch.Tensor) -> torch.Tensor:
    for _ in range(n):
        x = torch.clamp_min((x * 1.5 + 0.25) * x - 2.0, 0.0) + x
    return x


@torch.jit.script
def _products(n: int, xs: torch.Tensor, ws: torch.Tensor) -> torch.Tensor:
    a, b, c, d = xs[0], xs[1], xs[2], xs[3]
    for _ in range(n):
        a = a.matmul(ws[0])
        b = b.matmul(ws[1])
        c = c.matmul(ws[2])
        d = d.matmul(ws[3])
    return torch.stack([a, b, c, d])


def _with_gradients(function, last):
    """Values, and the gradients by the arguments from `last` on."""

    def run(n, *arguments):
        fed = [
            torch.as_tensor(a, dtype=torch.float32).detach()
            for a in arguments
        ]
        for argument in fed[last:]:
            argument.requires_grad_()
        value = function(n, *fed)
        return (value, *torch.autograd.grad(value, fed[last:]))

    return run


PROGRAMS = {
    "counter": _counter,
    "counter_acc": _muladds1,
    "muladds8": _muladds8,
    "nested": _nested,
    "cond_in_loop": _cond_in_loop,
    "mandelbrot": _mandelbrot,
    "newton": _newton,
    "power_gradient": _with_gradients(_power, 0),
    "newton_gradient": _with_gradients(_newton_nest, 0),
    "lstm": _lstm,
    "lstm_gradient": _with_gradients(_lstm, 1),
    "layers": _layers,
    "chain": _chain,
    "products": _products,
}
