"""python -m halfstep._worker images REQUEST: sends frames to standard output."""

import os
import sys

from halfstep._worker.frames import FrameWriter


def main() -> int:
    if sys.argv[1:2] != ["images"] or len(sys.argv) != 3:
        print("usage: python -m halfstep._worker images REQUEST", file=sys.stderr)
        return 2
    # Frames go to the real standard output; whatever prints by accident must not come between them.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    writer = FrameWriter(output)
    try:
        from halfstep._worker.images import send_images
    except ImportError as error:
        writer.error("unsupported", f"this Python ({sys.executable}) lacks a package: {error}")
        return 1
    try:
        send_images(sys.argv[2], writer)
    except BrokenPipeError:  # the command stopped; it has said why
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
