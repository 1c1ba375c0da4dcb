"""Train a small network on the CPU with poolgrad's pooling in place of torch's. Needs torch 2.13.0."""

import torch
from torch import nn
from torch.nn import functional

import poolgrad.torch

torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.last = nn.Linear(16 * 8 * 8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = poolgrad.torch.max_pool2d(functional.relu(self.first(x)), 2)
        x = poolgrad.torch.avg_pool2d(functional.relu(self.second(x)), 2)
        return self.last(x.flatten(1))


network = Network()
optimizer = torch.optim.SGD(network.parameters(), lr=0.05)
images, labels = torch.randn(32, 3, 32, 32), torch.randint(10, (32,))
for step in range(10):
    optimizer.zero_grad()
    loss = functional.cross_entropy(network(images), labels)
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
