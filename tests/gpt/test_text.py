"""The world, its text, the tokenizer and the batches."""

import hashlib
import subprocess
import sys

import pytest
import torch

from zerolit.gpt import ALPHABET, CharTokenizer, build_world, get_batch


def test_the_alphabet_has_44_characters():
    assert len(ALPHABET) == len(set(ALPHABET)) == 44
    assert sum(c.isalpha() for c in ALPHABET) == 26 and sum(c.isdigit() for c in ALPHABET) == 10
    assert " " in ALPHABET and "\n" in ALPHABET


def test_the_text_is_long_and_uses_every_character():
    text = build_world().train_text()
    assert len(text) >= 80_000
    assert set(text) == set(ALPHABET)


def test_the_text_is_the_same_in_another_process_with_another_hash_seed():
    code = "from zerolit.gpt import build_world; print(build_world(3).train_text(), end='')"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env={"PYTHONHASHSEED": "77"}
    )
    here = build_world(3).train_text().encode()
    assert hashlib.sha256(run.stdout).digest() == hashlib.sha256(here).digest()


def test_another_seed_is_another_world():
    assert build_world(0).people != build_world(1).people


def test_the_text_tells_the_worlds_facts():
    world = build_world()
    text = world.train_text()
    for person in world.people:
        assert f"{person.name} is a {person.trade} and lives in {person.place}." in text


def test_the_sums_are_right():
    for line in build_world().train_text().splitlines():
        if "=" in line:
            a, b = line.split(" = ")[0].split(" + ")
            assert int(a) + int(b) == int(line.split(" = ")[1])


def test_encode_and_decode_are_inverse():
    tokenizer = CharTokenizer(ALPHABET)
    text = build_world().train_text(1000)
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert tokenizer.encode("a9 ") == [0, 35, 36]


def test_an_unknown_character_is_named_with_its_position():
    with pytest.raises(ValueError, match="character 'É' at position 3 is not in the alphabet"):
        CharTokenizer(ALPHABET).encode("cafÉ")


def test_a_batch_is_shifted_by_one():
    data = torch.arange(50)
    x, y = get_batch(data, 8, 10, torch.Generator().manual_seed(0))
    assert x.shape == y.shape == (8, 10) and x.dtype == y.dtype == torch.int64
    assert torch.equal(y, x + 1)
    assert torch.equal(x, x[:, :1] + torch.arange(10))


def test_every_stretch_can_be_drawn_and_none_beyond():
    x, y = get_batch(torch.arange(12), 500, 10, torch.Generator().manual_seed(0))
    assert set(x[:, 0].tolist()) == {0, 1} and y.max() == 11


def test_data_too_short():
    with pytest.raises(ValueError, match="data has 10 tokens; context 10 needs 11"):
        get_batch(torch.arange(10), 1, 10, torch.Generator())
