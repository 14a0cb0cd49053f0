"""Trains the table of word vectors on what `collect.py` made.

    python train.py IN OUT FAMILY…

A text's vector is the sum of the rows of its word pieces. The rows start from the teacher's view
of each piece alone and learn from four losses: telling the right partner from the others of the
batch and from the partners that share most words, ranking a batch as the teacher ranks it,
lying as far apart as the teacher's vectors lie, and pointing the same way. Of every family of
losses several tables are trained, each on its own share of the text; turned onto each other, their
average knows more than any of them. Needs PyTorch, transformers and one GPU, and five minutes.
"""

import json
import lzma
import math
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

IN, OUT = sys.argv[1] + "/", sys.argv[2] + "/"
DEV, V, SEED, START = "cuda", 30522, 11, time.time()
CLS, SEP, PAD, UNKNOWN = 101, 102, 0, 100
torch.manual_seed(SEED)
np.random.seed(SEED)
torch.backends.cuda.matmul.allow_tf32 = True


def log(*what):
    print(f"{time.time() - START:.0f}s", *what, flush=True)


def teacher():
    z = np.load(IN + "teacher.npz")
    weights = {}
    for k in z.files:
        if k.endswith("|q"):
            weights[k[:-2]] = torch.tensor(z[k].astype(np.float32) * z[k[:-2] + "|s"])
        elif not k.endswith("|s"):
            weights[k] = torch.tensor(z[k])
    config = BertConfig(vocab_size=V, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, max_position_embeddings=512)
    model = BertModel(config, add_pooling_layer=False)
    missing = model.load_state_dict({k: v for k, v in weights.items() if not k.startswith("pooler")}, strict=False)
    log("teacher", missing)
    return model.half().to(DEV).eval()


@torch.no_grad()
def embed(model, encoded, tokens=131072):
    """The teacher's vectors, long texts with long ones."""
    order = np.argsort([len(e) for e in encoded], kind="stable")
    out = torch.zeros(len(encoded), 384, dtype=torch.float16, device=DEV)
    i = 0
    while i < len(order):
        longest = len(encoded[order[min(i + 8191, len(order) - 1)]])
        n = max(64, min(8192, tokens // max(longest, 1)))
        ix = order[i : i + n]
        width = max(len(encoded[j]) for j in ix)
        ids = np.zeros((len(ix), width), np.int64)
        mask = np.zeros((len(ix), width), np.float32)
        for r, j in enumerate(ix):
            ids[r, : len(encoded[j])] = encoded[j]
            mask[r, : len(encoded[j])] = 1
        ids, mask = torch.tensor(ids, device=DEV), torch.tensor(mask, device=DEV)
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        e = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        out[torch.tensor(ix, device=DEV)] = F.normalize(e, dim=1).half()
        i += n
    return out


class Bags:
    """Texts as lists of pieces, one flat array on the GPU."""

    def __init__(self, lists):
        self.flat = torch.tensor(np.concatenate([np.asarray(e, np.int64) for e in lists]), device=DEV)
        self.lens = torch.tensor([len(e) for e in lists], device=DEV)
        self.at = F.pad(self.lens.cumsum(0)[:-1], (1, 0))

    def take(self, ix):
        lens, at = self.lens[ix], self.at[ix]
        starts = F.pad(lens.cumsum(0)[:-1], (1, 0))
        pos = torch.arange(int(lens.sum()), device=DEV) + torch.repeat_interleave(at - starts, lens)
        return self.flat[pos], starts


@torch.no_grad()
def near_by_words(bags, queries, documents, teacher_vectors):
    """For each query the document that shares most of its rare words without being its partner."""
    df = torch.bincount(bags.flat, minlength=V).float()
    idf = torch.log(len(bags.lens) / (df + 1)).clamp(min=0)
    n = len(queries)
    out = torch.zeros(n, dtype=torch.long, device=DEV)
    for at in range(0, n, 65536):
        ds = documents[at : at + 65536]
        flat, starts = bags.take(ds)
        lens = bags.lens[ds]
        row = torch.repeat_interleave(torch.arange(len(ds), device=DEV), lens)
        value = (idf[flat] / (10 + 0.5 * lens.float())[row])
        docs = torch.sparse_coo_tensor(torch.stack([flat, row]), value, (V, len(ds))).coalesce().to_sparse_csr()
        for i in range(0, len(ds), 4096):
            some = queries[at + i : at + min(i + 4096, len(ds))]
            flat, starts = bags.take(some)
            row = torch.repeat_interleave(torch.arange(len(some), device=DEV), bags.lens[some])
            q = torch.zeros(len(some), V, device=DEV).index_put_((row, flat), idf[flat])
            score = torch.sparse.mm(docs.transpose(0, 1).to_sparse_csr(), q.T).T
            mine = torch.arange(i, i + len(some), device=DEV)
            score[torch.arange(len(some), device=DEV), mine] = -1
            best = score.topk(8, 1).indices
            # Not one the teacher finds as good as the partner.
            tq, td = teacher_vectors[some].float(), teacher_vectors[ds].float()
            limit = (tq * td[mine]).sum(1) - 0.05
            sim = torch.einsum("qd,qkd->qk", tq, td[best])
            ok = sim < limit[:, None]
            first = torch.where(ok.any(1), ok.float().argmax(1), torch.randint(0, 8, (len(some),), device=DEV))
            out[at + mine] = documents[at + best[torch.arange(len(some), device=DEV), first]]
    return out


model = teacher()
tok = Tokenizer.from_file(IN + "tokenizer.json")
tok.no_padding()
tok.enable_truncation(160)
pairs = [json.loads(l) for l in lzma.open(IN + "pairs.jsonl.xz", "rt")]
sentences = [json.loads(l) for l in lzma.open(IN + "sentences.jsonl.xz", "rt")]
N = len(pairs)
kinds = np.array([p[0] for p in pairs])
texts = [p[1] for p in pairs] + [p[2] for p in pairs] + sentences
encoded = [e.ids for e in tok.encode_batch(texts)]
log("encoded", len(encoded))
T = embed(model, encoded)
log("teacher's vectors", tuple(T.shape))
lists = [[t for t in e if t not in (CLS, SEP, PAD)] or [UNKNOWN] for e in encoded]
plain = Bags(lists)
A = torch.arange(N, device=DEV)
hard = near_by_words(plain, A, A + N, T)
log("hard negatives")

with torch.no_grad():
    alone = []
    for i in range(0, V, 2048):
        b = torch.arange(i, min(V, i + 2048), device=DEV)
        x = torch.stack([torch.full_like(b, CLS), b, torch.full_like(b, SEP)], 1)
        alone.append(model(input_ids=x).last_hidden_state.float().mean(1))
    alone = torch.cat(alone)
    centred = alone - alone.mean(0)
    _, _, turn = torch.linalg.svd(centred, full_matrices=False)
    p = 1 / torch.arange(1, V + 1, device=DEV).float()
    rank = 1e-4 / (1e-4 + p / p.sum())


def run(name, seed, dims=256, epochs=25, lr=3e-2, contrast=0.3, listwise=1.0, match=1.0, drop=0.1, tau=0.05, talk=1.0, batch=8192, share=0.75):
    torch.manual_seed(SEED + seed)
    rows = torch.nn.Parameter(((centred @ turn[:dims].T) * rank[:, None]).contiguous())
    onto = torch.nn.Parameter(turn[:dims].clone())
    adam = torch.optim.Adam([{"params": [rows], "lr": lr}, {"params": [onto], "lr": 1e-3}])
    weight = torch.ones(N, device=DEV)
    weight[torch.tensor(kinds == "talk", device=DEV)] = talk
    mine = torch.randperm(N, device=DEV)[: int(N * share)]
    steps, step, more = epochs * (len(mine) // batch), 0, len(sentences)

    def student(ix):
        flat, starts = plain.take(ix)
        keep = (torch.rand(len(flat), device=DEV) > drop).float()
        return F.normalize(F.embedding_bag(flat, rows, starts, mode="sum", per_sample_weights=keep) + 1e-6, dim=1)

    for epoch in range(epochs):
        order = mine[torch.randperm(len(mine), device=DEV)]
        for i in range(0, len(mine) - batch + 1, batch):
            ix = order[i : i + batch]
            hx = hard[ix]
            q, d, h = student(ix), student(ix + N), student(hx)
            tq, td, th = T[ix].float(), T[ix + N].float(), T[hx].float()
            loss = 0
            s, t = q @ torch.cat([d, h]).T, tq @ torch.cat([td, th]).T
            if contrast:
                own = (tq * td).sum(1, keepdim=True)
                other = torch.ones_like(t, dtype=torch.bool)
                other[:, :batch].fill_diagonal_(False)
                # What the teacher finds as good as the partner is no wrong answer.
                masked = (s / tau).masked_fill(other & (t > own - 0.02), -1e4)
                w = weight[ix]
                loss = loss + contrast * (F.cross_entropy(masked, torch.arange(batch, device=DEV), reduction="none") * w).sum() / w.sum()
            if listwise:
                loss = loss + listwise * F.kl_div(F.log_softmax(s / 0.05, 1), F.softmax(t / 0.05, 1), reduction="batchmean")
            sx = torch.randint(0, more, (batch // 2,), device=DEV) + 2 * N
            x = torch.cat([q[:2048], d[:2048], student(sx)])
            tx = torch.cat([tq[:2048], td[:2048], T[sx].float()])
            loss = loss + match * 50 * ((x @ x.T - tx @ tx.T) ** 2).mean()
            every, theirs = torch.cat([q, d, x[4096:]]), torch.cat([tq, td, tx[4096:]])
            loss = loss + match * (1 - F.cosine_similarity(every @ onto, theirs).mean())
            k = 0.5 * (1 + math.cos(math.pi * step / steps))
            adam.param_groups[0]["lr"], adam.param_groups[1]["lr"] = lr * k, 1e-3 * k
            adam.zero_grad()
            loss.backward()
            adam.step()
            step += 1
    log(name, seed, f"{loss.item():.4f}")
    return rows.detach()


def average(tables, onto):
    """Each turned as near to `onto` as it goes, and of the same size."""
    total = 0
    for e in tables:
        u, _, v = torch.linalg.svd(e.T @ onto)
        e = e @ (u @ v)
        total = total + e / (e**2).sum(1).mean().sqrt()
    return total / len(tables)


def save(name, e):
    e = e.cpu().numpy()
    scale = np.abs(e).max(1, keepdims=True) / 127
    scale[scale == 0] = 1
    np.savez_compressed(f"{OUT}{name}.npz", q=np.round(e / scale).astype(np.int8), s=scale.astype(np.float16))


FAMILIES = {
    "list": dict(contrast=0.0, listwise=1.0, tables=4),
    "mix": dict(contrast=0.3, listwise=1.0, talk=0.3, tables=4),
    "match": dict(contrast=0.0, listwise=0.0, tables=3),
}
first = None
for name in sys.argv[3:]:
    losses = dict(FAMILIES[name])
    tables = [run(name, seed, **losses) for seed in range(losses.pop("tables"))]
    first = tables[0] if first is None else first
    save(name, average(tables, first))
log("done")
