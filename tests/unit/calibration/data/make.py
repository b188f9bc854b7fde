"""Writes the archives that the tests of this folder read, as NumPy writes them."""

import io
import zipfile
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INDICES = np.array([[1, 2], [3, 4]], np.int64)


def main() -> None:
    np.savez(FOLDER / "stored.npz", x=X, i=INDICES)
    np.savez_compressed(FOLDER / "deflated.npz", x=X, i=INDICES)
    with zipfile.ZipFile(FOLDER / "zip64.npz", "w") as archive:
        for key, array in (("x", X), ("i", INDICES)):
            content = io.BytesIO()
            np.lib.format.write_array(content, array)
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                member.write(content.getvalue())
    np.savez(FOLDER / "empty.npz")
    with zipfile.ZipFile(FOLDER / "other_member.npz", "w") as archive:
        archive.writestr("notes.txt", "hello")
    np.savez(FOLDER / "fortran.npz", x=np.asfortranarray(X), i=INDICES)
    numbered = {f"{n}/x": X[n % 2] + n for n in (0, 2, 10)}
    np.savez(FOLDER / "numbered.npz", **numbered)


if __name__ == "__main__":
    main()
