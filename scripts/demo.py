"""Plays a conversation in a real terminal and keeps it: an asciinema cast, and an SVG that moves.

Called by demo.sh with the program and the folder to write to.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLUMNS, ROWS = 92, 26
LOOK_EVERY = 0.1

SCRIPT = {
    "models": ["demo"],
    "steps": [
        {"toolCalls": [{"name": "memory_search", "arguments": {"query": "lease"}}]},
        {"reply": "Your notes say the lease ends on 30 June, and that the landlord wants three months' notice. So write by **31 March**.", "piece": 6, "pieceMs": 30},
        {"toolCalls": [{"name": "write", "arguments": {"path": "lease.md", "content": "# Lease\n\n- [ ] give notice by 31 March\n- [ ] lease ends 30 June\n"}}]},
        {"reply": "Done: `lease.md` has both dates.", "piece": 6, "pieceMs": 30},
    ],
}

CONFIG = """{{ agents: {{ defaults: {{ model: 'kit/demo' }} }}, models: {{ providers: {{ kit: {{
  baseUrl: '{url}/v1', api: 'openai-completions', models: [{{ id: 'demo' }}] }} }} }} }}"""

NOTE = "# Flat\n\n- The lease ends on 30 June; the landlord wants three months' notice.\n"

# What is typed, and what must be on the screen before the next is.
PLAY = [
    ("chela context why SOUL.md", "cost"),
    ("chela chat", "Esc"),
    ("When does my lease end?", "31 March"),
    ("Put that on a list.", "both dates"),
    ("/quit", "\n$"),
    ("chela undo", "lease.md"),
    ("chela audit verify", "entr"),
]


class Terminal:
    """A tmux session of its own, on a server of its own."""

    def __init__(self, home: Path, program: Path):
        self.base = ["tmux", "-L", f"chela-demo-{os.getpid()}"]
        path = f"{program.parent}:/usr/bin:/bin"
        shell = "env -i HOME=%s PATH=%s TERM=xterm-256color LANG=C.UTF-8 PS1='$ ' bash --norc --noprofile" % (home, path)
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(home), shell)
        self.run("set", "-g", "status", "off")
        self.start = time.monotonic()
        self.frames: list[tuple[float, str]] = []

    def run(self, *words: str) -> str:
        return subprocess.run([*self.base, *words], check=True, capture_output=True, text=True).stdout

    def look(self) -> str:
        screen = self.run("capture-pane", "-e", "-p").rstrip("\n")
        if not self.frames or self.frames[-1][1] != screen:
            self.frames.append((time.monotonic() - self.start, screen))
        return screen

    def wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            time.sleep(LOOK_EVERY)

    def wait_for(self, words: str) -> None:
        for _ in range(600):
            if words in plain(self.look()):
                return
            time.sleep(LOOK_EVERY)
        sys.exit(f"error: `{words}` never came up; the screen says:\n{plain(self.look())}")

    def type(self, text: str) -> None:
        for letter in text:
            self.run("send-keys", "-l", letter)
            self.wait(0.04)
        self.run("send-keys", "Enter")

    def close(self) -> None:
        subprocess.run([*self.base, "kill-server"], capture_output=True)


def plain(screen: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", screen)


def play(program: Path) -> list[tuple[float, str]]:
    home = Path(tempfile.mkdtemp(prefix="chela-demo."))
    script = home / "script.json"
    script.write_text(json.dumps(SCRIPT))
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    server = subprocess.Popen([program, "testkit", "serve", script], env=env, stdout=subprocess.PIPE, text=True)
    terminal = None
    try:
        url = next(word for line in server.stdout for word in re.findall(r"http://[\d.:]+", line))
        run = lambda *words: subprocess.run([program, *words], env=env, check=True, capture_output=True)
        (home / ".chela").mkdir()
        (home / ".chela" / "chela.json").write_text(CONFIG.format(url=url))
        run("init")
        notes = home / ".chela" / "workspace" / "memory"
        notes.mkdir(exist_ok=True)
        (notes / "flat.md").write_text(NOTE)
        run("trust", "approve", "--folder", "--yes")
        terminal = Terminal(home, program)
        terminal.wait_for("$")
        for typed, expected in PLAY:
            terminal.wait(0.8)
            terminal.type(typed)
            terminal.wait(0.3)
            terminal.wait_for(expected)
        terminal.wait(2.5)
        # The folder of this recording is nobody's business.
        return [(when, screen.replace(str(home), "~")) for when, screen in terminal.frames]
    finally:
        if terminal:
            terminal.close()
        server.kill()
        server.wait()
        shutil.rmtree(home, ignore_errors=True)


def cast(frames: list[tuple[float, str]]) -> str:
    lines = [json.dumps({"version": 2, "width": COLUMNS, "height": ROWS, "title": "Chela"})]
    for when, screen in frames:
        text = "\x1b[0m\x1b[H\x1b[2J" + screen.replace("\n", "\r\n")
        lines.append(json.dumps([round(when, 2), "o", text], ensure_ascii=False))
    return "\n".join(lines) + "\n"


BASE_COLOURS = ["#1d1f21", "#cc6666", "#8fae5a", "#d9a94a", "#6f9fcf", "#b294bb", "#6fb3a8", "#c5c8c6"]
BRIGHT_COLOURS = ["#767c85", "#e08080", "#a9c97a", "#edc56f", "#8fbce8", "#c9aad3", "#8dcfc4", "#f2f4f3"]
FACE = dict(width=8.4, height=18, size=14)


def colour(codes: list[int]) -> str | None:
    if codes[0] == 2:
        return "#%02x%02x%02x" % tuple(codes[1:4])
    index = codes[1]
    if index < 8:
        return BASE_COLOURS[index]
    if index < 16:
        return BRIGHT_COLOURS[index - 8]
    if index < 232:
        index -= 16
        steps = [0, 95, 135, 175, 215, 255]
        return "#%02x%02x%02x" % (steps[index // 36], steps[index // 6 % 6], steps[index % 6])
    grey = 8 + 10 * (index - 232)
    return "#%02x%02x%02x" % (grey, grey, grey)


class Style:
    """What the escape sequences of a screen have switched on."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fore = self.back = None
        self.bold = self.dim = self.reverse = False

    def take(self, codes: list[int]) -> None:
        codes = codes or [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code == 27:
                self.reverse = False
            elif 30 <= code <= 37:
                self.fore = BASE_COLOURS[code - 30]
            elif 90 <= code <= 97:
                self.fore = BRIGHT_COLOURS[code - 90]
            elif 40 <= code <= 47:
                self.back = BASE_COLOURS[code - 40]
            elif 100 <= code <= 107:
                self.back = BRIGHT_COLOURS[code - 100]
            elif code in (38, 48) and codes:
                if codes[0] == 2:
                    value, codes = colour([2, *codes[1:4]]), codes[4:]
                else:
                    value, codes = colour([5, codes[1]]), codes[2:]
                if code == 38:
                    self.fore = value
                else:
                    self.back = value
            elif code == 39:
                self.fore = None
            elif code == 49:
                self.back = None

    def colours(self) -> tuple[str, str | None]:
        fore, back = self.fore or "#c5c8c6", self.back
        return (back or "#16181a", fore) if self.reverse else (fore, back)


def draw_line(line: str, style: Style, y: int) -> list[str]:
    column, shapes = 0, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if codes:
            style.take([int(code or 0) for code in codes[1].split(";")])
            continue
        if not part:
            continue
        x, width = column * FACE["width"], len(part) * FACE["width"]
        fore, back = style.colours()
        if back:
            shapes.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{FACE["height"]}" fill="{back}"/>')
        if part.strip():
            more = (' font-weight="bold"' if style.bold else "") + (' opacity=".6"' if style.dim else "")
            shapes.append(
                f'<text x="{x:.1f}" y="{y + 13}" fill="{fore}" textLength="{width:.1f}"{more}>{html.escape(part)}</text>'
            )
        column += len(part)
    return shapes


def svg(frames: list[tuple[float, str]]) -> str:
    # Typing is thinned out: a picture has no need for every letter.
    kept = [frames[0]]
    for frame in frames[1:]:
        if frame[0] - kept[-1][0] >= 0.25:
            kept.append(frame)
        else:
            kept[-1] = (kept[-1][0], frame[1])
    total = frames[-1][0] + 3
    width, height = COLUMNS * FACE["width"] + 24, ROWS * FACE["height"] + 24
    groups, rules = [], []
    for number, (when, screen) in enumerate(kept):
        end = kept[number + 1][0] if number + 1 < len(kept) else total
        begin, finish = 100 * when / total, 100 * end / total
        style, shapes = Style(), []
        for row, line in enumerate(screen.split("\n")[:ROWS]):
            shapes += draw_line(line, style, row * FACE["height"])
        last = " last" if number + 1 == len(kept) else ""
        groups.append(f'<g class="f{last}" style="animation-name:k{number}">{"".join(shapes)}</g>')
        rules.append(
            f"@keyframes k{number}{{0%,{begin:.3f}%{{visibility:hidden}}"
            f"{begin + 0.001:.3f}%,{finish:.3f}%{{visibility:visible}}{min(finish + 0.001, 100):.3f}%,100%{{visibility:hidden}}}}"
        )
    css = (
        f".f{{visibility:hidden;animation-duration:{total:.1f}s;animation-iteration-count:infinite;animation-timing-function:step-end}}"
        # Where nothing moves, the end is shown.
        ".last{visibility:visible}text{white-space:pre}" + "".join(rules)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="{FACE["size"]}">'
        f'<title>Chela in a terminal</title><style>{css}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="#16181a"/>'
        f'<g transform="translate(12 12)" xml:space="preserve">{"".join(groups)}</g></svg>\n'
    )


def main() -> None:
    program, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    if program.name != "chela":
        sys.exit("error: the program must be called chela, as people type it")
    frames = play(program)
    (out / "demo.cast").write_text(cast(frames), encoding="utf-8")
    (out / "demo.svg").write_text(svg(frames), encoding="utf-8")
    print(f"{len(frames)} frames in {frames[-1][0]:.0f} s: {out / 'demo.cast'}, {out / 'demo.svg'}")


main()
