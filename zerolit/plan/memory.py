"""What training keeps on each card between two steps, in bytes: the model states, by ZeRO stage.

The formulas are those of Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models", arXiv 1910.02054: §3.1 for the bytes of each state, §5.1 to §5.3 for what a stage
divides by the number of cards. Activations, gathered units, buffers and fragmentation are not in
them: they are added on top, and no stage divides them.
"""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Precision:
    """A recipe: for each parameter the bytes of each state that training keeps of it.

    Attributes:
        parameters: those that the model computes with.
        gradients: as they lie in memory until the update.
        master: a copy of the parameters in float32 that the optimizer updates; 0 where the
            parameters are in float32 themselves.
        m: Adam's running mean of the gradients.
        v: Adam's running mean of their squares.
    """

    parameters: int
    gradients: int
    master: int
    m: int
    v: int

    @property
    def optimizer(self) -> int:
        """The optimizer's state: the paper's K, which counts master weights, m and v."""
        return self.master + self.m + self.v

    @property
    def total(self) -> int:
        """All of it."""
        return self.parameters + self.gradients + self.optimizer


RECIPES = {
    # §3.1 of the paper: 2 + 2 + K with K = 12
    "mixed": Precision(parameters=2, gradients=2, master=4, m=4, v=4),
    # no second copy of anything; this course's tiny model
    "float32": Precision(parameters=4, gradients=4, master=0, m=4, v=4),
    # Megatron-LM's distributed optimizer with bf16 parameters: gradients add up in float32
    "float32 gradients": Precision(parameters=2, gradients=4, master=4, m=4, v=4),
    # the Ultra-Scale Playbook's figure of ZeRO, where no master weights are kept
    "no master": Precision(parameters=2, gradients=2, master=0, m=4, v=4),
}
MIXED = RECIPES["mixed"]


@dataclass(frozen=True)
class ModelStates:
    """Bytes on one card, by name."""

    parameters: float
    gradients: float
    master: float
    m: float
    v: float

    @property
    def optimizer(self) -> float:
        """Master weights, m and v."""
        return self.master + self.m + self.v

    @property
    def total(self) -> float:
        """All of it."""
        return self.parameters + self.gradients + self.optimizer


def model_states(
    params: float, stage: int, ranks: int, precision: Precision = MIXED
) -> ModelStates:
    """Bytes of model states on each of `ranks` cards.

    A state is whole on every card, or cut into `ranks` slices from the stage on that `_cut_from`
    names: in mixed precision 16Ψ, 4Ψ + 12Ψ/p, 2Ψ + 14Ψ/p and 16Ψ/p bytes for stages 0 to 3
    (§5.1 to §5.3; Figure 1). The padding of a slice is left out: less than `ranks` elements a unit.

    Args:
        params: the number of parameters, Ψ.
        stage: 0 for plain data parallelism, 1 to 3 for ZeRO.
        ranks: the number of cards, p.
        precision: bytes per parameter.

    Raises:
        ValueError: no parameters, no cards, or a stage that is not there.
    """
    if params <= 0:
        raise ValueError(f"params is {params:g}; it must be above 0")
    return ModelStates(*(params * each for each in _per_parameter(stage, ranks, precision)))


def largest_model(nbytes: float, stage: int, ranks: int, precision: Precision = MIXED) -> float:
    """The number of parameters whose states fill `nbytes` on each card: Table 2's theory.

    Raises:
        ValueError: no bytes, no cards, or a stage that is not there.
    """
    if nbytes <= 0:
        raise ValueError(f"nbytes is {nbytes:g}; it must be above 0")
    return nbytes / sum(_per_parameter(stage, ranks, precision))


def _per_parameter(stage: int, ranks: int, precision: Precision) -> list[float]:
    """Bytes per parameter and card, state by state."""
    if stage not in range(4):
        raise ValueError(f"stage is {stage}; it must be 0, 1, 2 or 3")
    if ranks < 1:
        raise ValueError(f"ranks is {ranks}; it must be at least 1")
    names = [field.name for field in fields(Precision)]
    return [getattr(precision, name) / (ranks if stage >= _cut_from(name) else 1) for name in names]


def _cut_from(state: str) -> int:
    """The first stage that divides a state by the number of cards."""
    return {"parameters": 3, "gradients": 2}.get(state, 1)
