"""How well a real, small model chooses tools, as one figure to compare two builds by.

    scripts/real-model.sh
    python3 scripts/tool_score.py target/release/chela [short|full] [SERVE]

SERVE is what serves the model, if not the one real-model.sh sets up.

Each task is one message in a session of its own; the answer is the first step of the model. A point
for the expected tool, another for arguments that can be used. The model is far too small to do well:
what counts is whether a change makes the figure fall.
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SERVE = os.path.join(HERE, "..", "target", "real-model", "serve")

# What is said, the tool that answers it, the argument it needs.
TASKS = [
    ("Read the file notes.md.", "read", "path"),
    ("What does SOUL.md say?", "read", "path"),
    ("Run the command ls -la.", "exec", "command"),
    ("Run the command date and tell me the output.", "exec", "command"),
    ("Write the text hello into the file greeting.txt.", "write", "path"),
    ("Create a file todo.md with the text buy milk.", "write", "content"),
    ("Fetch the web page https://example.org/page.", "web_fetch", "url"),
    ("Read the web page https://example.com.", "web_fetch", "url"),
    ("Search your memory for the name of my dentist.", "memory_search", "query"),
    ("What did we decide about the lease? Search memory.", "memory_search", "query"),
    ("What time is it exactly? Use session_status.", "session_status", None),
    ("Which model are you? Use session_status.", "session_status", None),
]


def main(chela, profile="short", serve=SERVE):
    chela = os.path.abspath(chela)
    server = subprocess.Popen([serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, HOME=home, CHELA_HOME=os.path.join(home, ".chela"))
        run = lambda *words: subprocess.run(
            [chela, *words], env=env, cwd=home, capture_output=True, text=True)
        run("init")
        config = {
            "models": {"providers": {"local": {
                "baseUrl": url, "api": "openai-completions", "apiKey": "none",
                "models": [{
                    "id": "smollm2", "contextWindow": 8192,
                    "compat": {"promptProfile": profile, "toolMode": "constrained"},
                    "params": {"temperature": 0, "maxTokens": 60},
                }],
            }}},
            "agents": {"defaults": {"model": "local/smollm2", "maxSteps": 1}},
        }
        with open(os.path.join(home, ".chela", "chela.json"), "w") as file:
            json.dump(config, file)
        points = 0
        for at, (said, tool, argument) in enumerate(TASKS):
            asked = run("chat", "-m", said, "--new-session", f"task{at}", "--json")
            if asked.returncode not in (0, 4, 5):
                sys.exit(f"chela could not ask: {asked.stderr}")
            lines = run("sessions", "export", f"agent:main:task{at}").stdout.splitlines()
            call = first_call(map(json.loads, lines))
            right = call is not None and call["name"] == tool
            usable = right and (argument is None or bool(call["arguments"].get(argument)))
            points += right + usable
            print(f"{right + usable} of 2  {said}  ->  {json.dumps(call) if call else 'no call'}")
        print(f"{points} of {2 * len(TASKS)}")
    server.kill()


def first_call(entries):
    for entry in entries:
        message = entry.get("message", {})
        if message.get("role") == "assistant":
            calls = [part for part in message["content"] if part["type"] == "toolCall"]
            return calls[0] if calls else None
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
