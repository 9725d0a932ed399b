"""How parameters lie in a vector, and whose share is what: by hand, and there and back."""

import pytest
import torch
from torch import Size

from zerolit.zero.layout import CUTS, Layout

# Two parameters: rows 0 to 2 of width 2, and five numbers.
SHAPES = [Size((3, 2)), Size((5,))]
PARAMS = [torch.arange(1.0, 7).view(3, 2), torch.arange(7.0, 12)]


def shares(cut, size):
    layout = Layout(SHAPES, size, cut)
    flat = layout.flatten(PARAMS, torch.float32)
    return [layout.shares(flat)[rank].tolist() for rank in range(size)]


def test_the_flat_cut_cuts_the_whole_vector():
    assert shares("flat", 2) == [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 0]]


def test_the_cut_by_rows_gives_every_rank_rows_of_every_parameter():
    # Two rows of the first and three numbers of the second each; the last rank's are padded.
    assert shares("rows", 2) == [[1, 2, 3, 4, 7, 8, 9], [5, 6, 0, 0, 10, 11, 0]]


def test_more_ranks_than_rows():
    # One row each; rank 3 has a row of zeros. 5 numbers on 4 ranks: two each.
    assert shares("rows", 4) == [[1, 2, 7, 8], [3, 4, 9, 10], [5, 6, 11, 0], [0, 0, 0, 0]]


def test_a_share_by_rows_is_what_torch_chunk_gives_as_fsdp2_cuts():
    for size in (2, 3, 4, 7):
        for rank, share in enumerate(shares("rows", size)):
            rows = [p.chunk(size)[rank:][:1] for p in PARAMS]
            kept = [n for (part,) in (r for r in rows if r) for n in part.flatten().tolist()]
            assert [n for n in share if n] == kept  # all but the padding, which is zero


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 13])
def test_there_and_back(cut, size):
    layout = Layout(SHAPES, size, cut)
    flat = layout.flatten(PARAMS, torch.float32)
    whole = torch.arange(1.0, 12)
    assert len(flat) == layout.padded == size * layout.share
    assert torch.equal(layout.join([layout.shares(flat)[rank] for rank in range(size)]), whole)
    for view, param in zip(layout.views(flat), PARAMS, strict=True):
        assert torch.equal(view, param)
        assert view.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr()


@pytest.mark.parametrize("cut", CUTS)
def test_an_assigned_share_reaches_the_vector(cut):
    layout = Layout(SHAPES, 2, cut)
    flat = layout.flatten(PARAMS, torch.float32)
    chunks = layout.shares(flat)
    chunks[0] *= 10
    first, second = layout.views(flat)
    assert first[0].tolist() == [10, 20] and second[4] == 11


@pytest.mark.parametrize("cut", CUTS)
def test_a_unit_without_parameters(cut):
    layout = Layout([], 3, cut)
    flat = layout.flatten([], torch.float32)
    assert len(flat) == layout.share == 0
    assert len(layout.join([layout.shares(flat)[rank] for rank in range(3)])) == 0


def test_a_parameter_without_dimensions():
    assert Layout([Size(())], 2, "rows").padded == 2
