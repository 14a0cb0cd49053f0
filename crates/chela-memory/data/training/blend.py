"""Averages trained tables into one.

    python blend.py OUT.npz TABLE.npz=WEIGHT…

The first table stays as it is; each other one is turned as near to it as it goes. The table in the
binary is

    python blend.py table.npz list.npz=1 mix.npz=1.5 match.npz=1 distill256.npz=0.7 mix256.npz=0.7
"""

import sys

import numpy as np


def load(path):
    z = np.load(path)
    e = z["q"].astype(np.float32) * z["s"].astype(np.float32).reshape(-1, 1)
    return e / np.sqrt((e**2).sum(1).mean())


def main(out, *tables):
    first, total = None, 0
    for table in tables:
        path, weight = table.split("=")
        e = load(path)
        if first is None:
            first = e
        else:
            u, _, v = np.linalg.svd(e.T @ first)
            e = e @ (u @ v)
        total = total + float(weight) * e
    scale = np.abs(total).max(1, keepdims=True) / 127
    scale[scale == 0] = 1
    np.savez_compressed(out, q=np.round(total / scale).astype(np.int8), s=scale.astype(np.float16))


main(*sys.argv[1:])
