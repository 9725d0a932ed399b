"""zerolit: ring all-reduce, data parallelism and ZeRO, by code that runs on every build."""
