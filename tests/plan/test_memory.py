"""What each card keeps, against the numbers that papers and tools have printed."""

from decimal import Decimal

import pytest

from zerolit.plan.memory import MIXED, RECIPES, largest_model, model_states

GB, GIB, MIB = 1e9, 2**30, 2**20

# Rajbhandari et al., arXiv 1910.02054, Table 1: GB per device by Pos, Pos+g, Pos+g+p.
TABLE_1 = {
    1: "120/120/120 2048/2048/2048 16000/16000/16000",
    4: "52.5/41.3/30 896/704/512 7000/5500/4000",
    16: "35.6/21.6/7.5 608/368/128 4750/2875/1000",
    64: "31.4/16.6/1.88 536/284/32 4187/2218/250",
    256: "30.4/15.4/0.47 518/263/8 4046/2054/62.5",
    1024: "30.1/15.1/0.12 513/257/2 4011/2013/15.6",
}
CELLS = [
    (ranks, params, stage, printed)
    for ranks, row in TABLE_1.items()
    for params, cell in zip((7.5e9, 128e9, 1e12), row.split(), strict=True)
    for stage, printed in enumerate(cell.split("/"), start=1)
]


@pytest.mark.parametrize(("ranks", "params", "stage", "printed"), CELLS)
def test_table_1_of_the_paper(ranks, params, stage, printed):
    # Some columns are rounded, some truncated: within one unit of the last digit printed.
    unit = 10.0 ** Decimal(printed).as_tuple().exponent
    assert abs(model_states(params, stage, ranks).total / GB - float(printed)) < unit


def test_figure_1_of_the_paper():
    found = [f"{model_states(7.5e9, stage, 64).total / GB:.1f}" for stage in range(4)]
    assert found == ["120.0", "31.4", "16.6", "1.9"]


def test_gpt_2_needs_24_gb_before_anything_else():  # §3.1
    assert model_states(1.5e9, 0, 1).total == 24 * GB


@pytest.mark.parametrize(("stage", "billions"), list(enumerate(["2.0", "7.6", "14.4", "128.0"])))
def test_table_2_of_the_paper(stage, billions):
    assert f"{largest_model(32 * GB, stage, 64) / 1e9:.1f}" == billions


def test_a_model_of_the_largest_size_fills_the_card():
    for stage in range(4):
        params = largest_model(80 * GB, stage, 6, RECIPES["float32"])
        assert model_states(params, stage, 6, RECIPES["float32"]).total == pytest.approx(80 * GB)


def test_every_byte_has_a_name():
    # 7 parameters on 7 cards, stage by stage: what is cut falls to a seventh.
    whole = {"parameters": 14, "gradients": 14, "master": 28, "m": 28, "v": 28}
    cut = {name: nbytes / 7 for name, nbytes in whole.items()}
    first = {"master": 4, "m": 4, "v": 4}
    assert vars(model_states(7, 0, 7)) == whole
    assert vars(model_states(7, 1, 7)) == whole | first
    assert vars(model_states(7, 2, 7)) == whole | first | {"gradients": 2}
    assert vars(model_states(7, 3, 7)) == cut
    assert model_states(7, 1, 7).optimizer == 12


@pytest.mark.parametrize(
    ("recipe", "whole", "cut"), [("float32 gradients", 6, 12), ("float32", 8, 8), ("mixed", 4, 12)]
)
def test_megatrons_distributed_optimizer(recipe, whole, cut):
    # Bytes per parameter in its documentation: 6 + 12/d and 8 + 8/d; 4 + 12/d is the paper's.
    for d in (1, 2, 8, 64):
        assert model_states(1, 1, d, RECIPES[recipe]).total == whole + cut / d


def test_mbridges_estimator():
    states = model_states(1_250_961_408, 1, 8, RECIPES["float32 gradients"])
    assert f"{states.total / MIB:.2f}" == "8947.57"


def test_the_playbooks_figure():  # "8B", parameters of 15 GiB, 8 cards
    params = 15 * GIB / 2
    found = [model_states(params, stage, 8, RECIPES["no master"]).total / GIB for stage in range(4)]
    assert found == [90, 37.5, 24.375, 11.25]


def test_the_playbooks_text():  # 1B to 405B at 16 bytes per parameter
    for params, gigabytes in ((1e9, 16), (7e9, 112), (70e9, 1120), (405e9, 6480)):
        assert model_states(params, 0, 512).total == gigabytes * GB


def test_deepspeeds_estimator():  # ZeRO-3, nothing offloaded: 4ℓ for the largest layer, 18Ψ/N
    states = model_states(2851e6, 3, 8, RECIPES["float32 gradients"])
    assert f"{(states.total + 4 * 32e6) / GIB:.2f}" == "6.09"


def test_accelerates_estimator():  # bert-base in float32: training with Adam is four times
    states = model_states(433_249_280 / 4, 0, 1, RECIPES["float32"])
    assert f"{states.total / GIB:.2f}" == "1.61"


def test_recipes_sum_to_what_they_are_known_for():
    totals = {name: recipe.total for name, recipe in RECIPES.items()}
    assert totals == {"mixed": 16, "float32": 16, "float32 gradients": 18, "no master": 12}
    assert MIXED.optimizer == 12  # the paper's K


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model_states(0, 1, 4), "params is 0; it must be above 0"),
        (lambda: model_states(7e9, 4, 4), "stage is 4; it must be 0, 1, 2 or 3"),
        (lambda: model_states(7e9, 1, 0), "ranks is 0; it must be at least 1"),
        (lambda: largest_model(-1, 1, 4), "nbytes is -1; it must be above 0"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
