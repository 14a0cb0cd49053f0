"""Answers hooks: one JSON object a line comes in, one goes out. What is printed to stderr is the log."""
import datetime
import json
import sys

for line in sys.stdin:
    question = json.loads(line)
    if "id" not in question:
        continue
    answer = None
    if question["method"] == "before_prompt_build":
        answer = {"prependContext": f"Today is {datetime.date.today():%A}."}
    print(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": answer}), flush=True)
