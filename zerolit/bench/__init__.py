"""Benchmarks, as ratios measured in one run: absolute times say little about another machine."""
