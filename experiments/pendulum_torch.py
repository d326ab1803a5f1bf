"""Chapter 22's training in PyTorch, line beside line with `gru_lib`. Needs torch, from the extra `frameworks`."""

from __future__ import annotations

from itertools import islice

import numpy as np
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, D, K, H):
        super().__init__()
        self.rnn = nn.GRU(D, H)
        self.out = nn.Linear(H, K)
        with torch.no_grad():
            self.rnn.bias_hh_l0[H : 2 * H] = 1  # b_z

    def forward(self, xs):  # (T, N, D)
        hs, _ = self.rnn(xs)
        return self.out(hs)


def pairs(xs, ys, N=32):
    rng = np.random.default_rng(0)
    while True:
        n = rng.choice(xs.shape[1], N, replace=False)
        yield torch.from_numpy(xs[:, n]), torch.from_numpy(ys[:, n])


def fit_torch(m, batches, rate, steps):
    opt = torch.optim.Adam(m.parameters(), lr=rate)
    losses = []
    for step, (xs, ys) in enumerate(islice(batches, steps)):
        opt.param_groups[0]["lr"] = rate * (1 - step / steps)
        off = (m(xs) - ys)[~ys.isnan()]
        loss = (off**2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses
