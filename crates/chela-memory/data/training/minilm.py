"""Writes all-MiniLM-L6-v2 as ONNX, for builds with the feature `minilm`.

    python minilm.py model.safetensors minilm.onnx

Inputs `input_ids` and `attention_mask` (batch x pieces, int64), output `last_hidden_state`. Needs numpy and onnx. The ONNX files that others made of the model do as well.
"""

import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS, LAYERS, WIDTH = 12, 6, 384


def weights(path):
    raw = open(path, "rb").read()
    size = int.from_bytes(raw[:8], "little")
    for name, at in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__" and at["dtype"] == "F32":
            a, b = at["data_offsets"]
            yield name, np.frombuffer(raw[8 + size + a : 8 + size + b], np.float32).reshape(at["shape"])


def main(source, out):
    w = dict(weights(source))
    nodes, constants = [], {}

    def const(name, value):
        constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def op(kind, *inputs, **more):
        name = f"v{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], **more))
        return name

    def linear(x, name):
        return op("Add", op("MatMul", x, const(name + ".w", w[name + ".weight"].T)), const(name + ".b", w[name + ".bias"]))

    def norm(x, name):
        return op("LayerNormalization", x, const(name + ".w", w[name + ".weight"]), const(name + ".b", w[name + ".bias"]), axis=-1, epsilon=1e-12)

    shape = op("Shape", "input_ids")
    length = op("Gather", shape, const("one", np.array([1], np.int64)), axis=0)
    ends = const("zero1", np.array([0], np.int64))
    places = op("Slice", const("positions", w["embeddings.position_embeddings.weight"]), ends, length, ends)
    x = op("Gather", const("words", w["embeddings.word_embeddings.weight"]), "input_ids", axis=0)
    x = op("Add", op("Add", x, places), const("kind", w["embeddings.token_type_embeddings.weight"][0]))
    x = norm(x, "embeddings.LayerNorm")
    hidden = op("Mul", op("Sub", const("unit", np.float32(1)), op("Cast", "attention_mask", to=TensorProto.FLOAT)), const("low", np.float32(-1e9)))
    hidden = op("Unsqueeze", hidden, const("axes", np.array([1, 2], np.int64)))
    split = const("split", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    whole = const("whole", np.array([0, 0, WIDTH], np.int64))
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (op("Transpose", op("Reshape", linear(x, at + "attention.self." + n), split), perm=p)
                   for n, p in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        s = op("Mul", op("MatMul", q, k), const("scale", np.float32((WIDTH // HEADS) ** -0.5)))
        s = op("Softmax", op("Add", s, hidden), axis=-1)
        a = op("Reshape", op("Transpose", op("MatMul", s, v), perm=[0, 2, 1, 3]), whole)
        x = norm(op("Add", x, linear(a, at + "attention.output.dense")), at + "attention.output.LayerNorm")
        h = linear(x, at + "intermediate.dense")
        e = op("Erf", op("Mul", h, const("root", np.float32(0.5**0.5))))
        h = op("Mul", op("Mul", h, const("half", np.float32(0.5))), op("Add", e, const("unit", np.float32(1))))
        x = norm(op("Add", x, linear(h, at + "output.dense")), at + "output.LayerNorm")
    nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    size = ["batch", "pieces"]
    graph = helper.make_graph(
        nodes, "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(name, TensorProto.INT64, size) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, size + [WIDTH])],
        list(constants.values()),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, out)


main(*sys.argv[1:])
