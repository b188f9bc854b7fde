"""Parts of the demo that the benchmarks use too: models with known answers, runs, tables."""
