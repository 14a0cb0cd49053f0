"""Packs a trained table and its vocabulary into `table.bin`.

    python pack.py TABLE.npz vocab.txt table.bin

TABLE.npz holds `q` (vocabulary x dimensions, int8) and `s` (one scale per row). The
dimensions are turned so that the strongest come first: dot products stay what they are, and
a prefix of a vector is the best short form of it. Layout of the file, little endian:

    8 bytes   magic "CHTABLE2"
    u32       rows
    u32       dimensions
    u32       bytes of the vocabulary
    f32       x rows: the scale of each row
    ...       the rows, six bits a number (0 is kept as 32), in quarters of a row: three quarters
              in the low bits of a byte each, the last one in the two high bits of these three
    ...       the vocabulary, one word per line, in row order
"""

import struct
import sys

import numpy as np


def packed(q):
    a, b, c, last = np.split(q, 4, axis=1)
    high = [(last >> bits & 3) << 6 for bits in (0, 2, 4)]
    return np.concatenate([low | two for low, two in zip((a, b, c), high)], axis=1)


def main(table, vocab, out):
    z = np.load(table)
    rows = z["q"].astype(np.float32) * z["s"].astype(np.float32).reshape(-1, 1)
    _, _, turn = np.linalg.svd(rows, full_matrices=False)
    rows = rows @ turn.T
    scale = np.abs(rows).max(1)
    scale[scale == 0] = 1
    scale = (scale / 31).astype(np.float32)
    q = (np.clip(np.round(rows / scale[:, None]), -31, 31) + 32).astype(np.uint8)
    words = open(vocab, encoding="utf-8").read().rstrip("\n")
    assert len(words.split("\n")) == len(q)
    words = words.encode()
    with open(out, "wb") as f:
        f.write(b"CHTABLE2")
        f.write(struct.pack("<III", *q.shape, len(words)))
        f.write(scale.tobytes())
        f.write(packed(q).tobytes())
        f.write(words)


main(*sys.argv[1:])
