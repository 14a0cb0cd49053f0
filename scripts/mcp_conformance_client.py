#!/usr/bin/env python3
"""The client that the conformance suite of the Model Context Protocol runs: `chela mcp`, as a person
would use it. The suite gives the URL of a server; what a scenario wants done stands in SCENARIOS.

  CHELA=target/debug/chela mcp_conformance_client.py URL
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

# What is called beyond connecting and listing: the tool and its arguments.
SCENARIOS = {
    "tools_call": [("add_numbers", {"a": 5, "b": 3})],
    "sse-retry": [("test_reconnection", {})],
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
}
# A client that goes on trying is as wrong as one that never does.
MOST_LOGINS = 3
NAME = "suite"


def chela(*words, **more):
    run = subprocess.run(
        [os.environ["CHELA"], "mcp", *words],
        capture_output=True, text=True, timeout=60, check=False, **more)
    sys.stderr.write(f"$ chela mcp {' '.join(words)} -> {run.returncode}\n{run.stdout}{run.stderr}")
    return run


def log_in():
    """Opens the page somebody would open, and follows it back."""
    command = subprocess.Popen(
        [os.environ["CHELA"], "mcp", "login", NAME],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in command.stdout:
        sys.stderr.write(line)
        if "http" in line and "Open in a browser" in line:
            page = line[line.index("http"):].strip()
            threading.Thread(target=open_page, args=(page,), daemon=True).start()
    return command.wait(timeout=60) == 0


def open_page(page):
    try:
        urllib.request.urlopen(page, timeout=30).read()
    except (urllib.error.URLError, OSError) as error:
        sys.stderr.write(f"the page: {error}\n")


class Logins:
    left = MOST_LOGINS


def with_login(*words):
    """Does something, and logs in first where that is wanted."""
    while True:
        run = chela(*words)
        if "wants a login" not in run.stdout + run.stderr or Logins.left == 0:
            return run
        Logins.left -= 1
        if not log_in():
            return run


def sample(schema):
    """Arguments a tool takes."""
    kinds = {"string": "us-west1", "integer": 42, "number": 3.5, "boolean": True,
             "array": [], "object": {}}
    made = {}
    for name, told in (schema.get("properties") or {}).items():
        if "enum" in told:
            made[name] = told["enum"][0]
        elif told.get("type") == "object" and told.get("properties"):
            made[name] = sample(told)
        else:
            made[name] = kinds.get(told.get("type"), "text")
    return made


def main():
    url = sys.argv[-1]
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    home = tempfile.mkdtemp(prefix="chela-conformance-")
    os.environ["HOME"] = home
    os.makedirs(os.path.join(home, ".chela"))
    server = {"url": url, "oauth": {
        "clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}}
    if context.get("client_id"):
        server["oauth"]["clientId"] = context["client_id"]
    if context.get("client_secret"):
        server["oauth"]["clientSecret"] = context["client_secret"]
    with open(os.path.join(home, ".chela", "chela.json"), "w", encoding="utf-8") as config:
        json.dump({"mcp": {"servers": {NAME: server}}}, config)
    first = with_login("test", NAME, "--json")
    if first.returncode != 0:
        return 1
    calls = SCENARIOS.get(scenario)
    if context.get("toolCalls"):
        calls = [(call["name"], call.get("arguments") or {}) for call in context["toolCalls"]]
    if calls is None:
        told = json.loads(chela("tools", NAME, "--json").stdout)
        tools = told["servers"][0]["tools"]
        calls = [(tool["tool"], sample(tool["inputSchema"])) for tool in tools]
    for tool, arguments in calls:
        with_login("test", NAME, "--call", tool, "--arguments", json.dumps(arguments))
    about = json.loads(first.stdout)
    if about.get("resources"):
        with_login("test", NAME, "--resource", "file:///path/to/file%20name.txt")
    if about.get("prompts"):
        with_login("test", NAME, "--prompt", "test_prompt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
