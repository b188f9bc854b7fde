"""Calibrates in parts on Dask, merges, and gets the bytes of one run over all samples.

Each part is a task that any worker can take: it runs the model on its files and returns the bytes
of its statistics. Parts merge in whatever order they arrive.

usage: calibrate_shards.py MODEL DATA -o STATS [--parts N] [--workers N] [--method NAME] [--compare]
DATA is a folder of .npz files, one sample or batch each. Needs: pip install 'dask[distributed]'
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import halfstep


def samples(files: list[str]) -> Iterator[dict[str, np.ndarray]]:
    for file in files:
        with np.load(file) as arrays:
            yield dict(arrays)


def calibrate_part(model: str, files: list[str], method: str) -> bytes:
    return halfstep.calibrate(model, samples(files), method=method).to_bytes()


def calibrate_on_dask(
    model: str, files: list[str], method: str, parts: int, workers: int
) -> halfstep.Statistics:
    from dask.distributed import Client, LocalCluster, as_completed

    shards = [files[i::parts] for i in range(parts) if files[i::parts]]
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        tasks = [client.submit(calibrate_part, model, shard, method) for shard in shards]
        return halfstep.merge_statistics([task.result() for task in as_completed(tasks)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default="percentile")
    parser.add_argument("--compare", action="store_true", help="also run it all in this process")
    options = parser.parse_args()

    files = sorted(str(file) for file in options.data.glob("*.npz"))
    merged = calibrate_on_dask(options.model, files, options.method, options.parts, options.workers)
    merged.save(options.output)
    print(f"{options.output}: {merged}")
    if options.compare:
        alone = halfstep.calibrate(options.model, samples(files), method=options.method)
        if alone.to_bytes() != merged.to_bytes():
            raise SystemExit("the parts and one run over all samples differ")
        print("the same bytes as one run over all samples")


if __name__ == "__main__":
    main()
