"""Packs a trained table and its vocabulary into `table.bin`.

    python pack.py TABLE.npz vocab.txt table.bin

TABLE.npz holds `q` (vocabulary x dimensions, int8) and `s` (one scale per row). The
dimensions are turned so that the strongest come first: dot products stay what they are, and
a prefix of a vector is the best short form of it. Layout of the file, little endian:

    8 bytes   magic "CHTABLE1"
    u32       rows
    u32       dimensions
    u32       bytes of the vocabulary
    f32       x rows: the scale of each row
    i8        x rows x dimensions
    ...       the vocabulary, one word per line, in row order
"""

import struct
import sys

import numpy as np


def main(table, vocab, out):
    z = np.load(table)
    rows = z["q"].astype(np.float32) * z["s"].astype(np.float32).reshape(-1, 1)
    _, _, turn = np.linalg.svd(rows, full_matrices=False)
    rows = rows @ turn.T
    scale = np.abs(rows).max(1)
    scale[scale == 0] = 1
    scale = (scale / 127).astype(np.float32)
    q = np.clip(np.round(rows / scale[:, None]), -127, 127).astype(np.int8)
    words = open(vocab, encoding="utf-8").read().rstrip("\n")
    assert len(words.split("\n")) == len(q)
    words = words.encode()
    with open(out, "wb") as f:
        f.write(b"CHTABLE1")
        f.write(struct.pack("<III", *q.shape, len(words)))
        f.write(scale.tobytes())
        f.write(q.tobytes())
        f.write(words)


main(*sys.argv[1:])
