"""ZeRO-3 on a model of one's own; run it by python, or by torchrun."""

import torch
from torch import nn

from zerolit.engine import is_rank_0, train, world_size
from zerolit.zero import Task


def make_units():  # in a row: each is fed with what the one before gave
    torch.manual_seed(0)  # every rank makes the same parameters
    hidden = [nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(3)]
    return [nn.Linear(8, 64), *hidden, nn.Linear(64, 1)]


def squared_error(output, y):  # summed: the mean over all ranks is the stage's matter
    return (output - y).square().sum()


def draw_batches(steps, batch_size):  # whole batches: every rank takes its share
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        x = torch.rand(batch_size, 8, generator=generator)
        yield x, x.sin().sum(dim=1, keepdim=True)


if __name__ == "__main__":
    task = Task(make_units, squared_error, draw_batches)
    run = train(3, size=world_size(4), steps=100, task=task)
    if is_rank_0():
        stored = run.stored[0].total() / len(run.parameters)
        print(run.losses[0], run.losses[-1], stored)
