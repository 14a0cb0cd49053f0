#!/usr/bin/env python3
"""Writes a Python wheel that carries the program: `pip install` puts it on the PATH.

Takes a tree as it lies under a prefix (bin/, share/). The same tree gives the same bytes.
"""

import argparse
import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

NAME = "chela"

METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: A personal agent whose context you can see, question and trust
License-Expression: MIT OR Apache-2.0
License-File: LICENSE-MIT
License-File: LICENSE-APACHE
License-File: THIRD-PARTY.md
Keywords: agent,llm,context
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: chela-package
Root-Is-Purelib: false
Tag: py3-none-{tag}
"""


class WheelWriter:
    """A zip file that keeps the record of what it holds."""

    def __init__(self, path: Path, level: int, when: int):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=level)
        # Zip knows no time before 1980.
        self.when = max(time.gmtime(when)[:6], (1980, 1, 1, 0, 0, 0))
        self.record = []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        info = zipfile.ZipInfo(name, self.when)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
        self.record.append(f"{name},sha256={digest.decode()},{len(data)}")

    def finish(self, record_name: str) -> None:
        lines = self.record + [f"{record_name},,"]
        info = zipfile.ZipInfo(record_name, self.when)
        info.external_attr = 0o100644 << 16
        self.zip.writestr(info, "\n".join(lines) + "\n")
        self.zip.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--tag", required=True, help="such as manylinux_2_35_x86_64")
    parser.add_argument("--level", type=int, default=9)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()

    # As Python writes versions: 1.0.0-rc.1 is 1.0.0rc1.
    version = args.version.replace("-alpha.", "a").replace("-beta.", "b").replace("-rc.", "rc")
    docs = args.tree / "share" / "doc" / NAME
    name = f"{NAME}-{version}-py3-none-{args.tag}.whl"
    wheel = WheelWriter(args.out / name, args.level, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    info = f"{NAME}-{version}.dist-info"
    data = f"{NAME}-{version}.data"

    wheel.add(f"{data}/scripts/chela", (args.tree / "bin" / "chela").read_bytes(), 0o755)
    # Licences go where Python looks for them; the other pages stay with the archive.
    for path in sorted((args.tree / "share").rglob("*")):
        if path.is_file() and not path.is_relative_to(docs):
            wheel.add(f"{data}/data/{path.relative_to(args.tree).as_posix()}", path.read_bytes())
    for licence in ("LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"):
        wheel.add(f"{info}/licenses/{licence}", (docs / licence).read_bytes())
    readme = (docs / "README.md").read_text(encoding="utf-8")
    wheel.add(f"{info}/METADATA", METADATA.format(name=NAME, version=version, readme=readme).encode())
    wheel.add(f"{info}/WHEEL", WHEEL.format(tag=args.tag).encode())
    wheel.finish(f"{info}/RECORD")
    print(name)


if __name__ == "__main__":
    main()
