"""The official Python clients of OpenAI and Anthropic against a gateway: URL and token are given."""

import json
import sys

import anthropic
import openai

url, token = sys.argv[1:3]
client = openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)
claude = anthropic.Anthropic(base_url=url, api_key=token, max_retries=0)

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASK = "What is the weather in Oslo?"
RESULT = "7 degrees and rain"


def is_refused(kind, what, call):
    try:
        call()
    except kind as error:
        assert str(error), what
        return
    raise AssertionError(f"{what}: nothing was refused")


# Models, vectors.
ids = [model.id for model in client.models.list()]
assert ids == ["chela", "chela/main"], ids
assert client.models.retrieve("chela/main").id == "chela/main"
assert [model.id for model in claude.models.list()] == ids
vectors = client.embeddings.create(model="local", input=["tea", "compiler"])
assert len(vectors.data) == 2 and len(vectors.data[0].embedding) > 10
assert vectors.usage.prompt_tokens > 0

# Chat completions: whole, streamed, with a tool of the caller.
said = client.chat.completions.create(model="chela", messages=[{"role": "user", "content": "hello"}])
assert said.choices[0].message.content == "Hello to you.", said
assert said.choices[0].finish_reason == "stop" and said.usage.total_tokens > 0
stream = client.chat.completions.create(
    model="chela", messages=[{"role": "user", "content": "hello"}], stream=True,
    stream_options={"include_usage": True},
)
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text == "Hello to you.", text
assert chunks[-1].usage.total_tokens > 0
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
messages = [{"role": "user", "content": ASK}]
asked = client.chat.completions.create(model="chela", messages=messages, tools=tools)
choice = asked.choices[0]
assert choice.finish_reason == "tool_calls", asked
call = choice.message.tool_calls[0]
assert call.function.name == "get_weather" and json.loads(call.function.arguments) == {"city": "Oslo"}
messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
told = client.chat.completions.create(model="chela", messages=messages, tools=tools)
assert told.choices[0].message.content == "Rain in Oslo.", told
# The same, streamed from the call to the answer.
messages = [{"role": "user", "content": ASK}]
with client.chat.completions.stream(model="chela", messages=messages, tools=tools) as stream:
    for _ in stream:
        pass
    choice = stream.get_final_completion().choices[0]
assert choice.finish_reason == "tool_calls", choice
call = choice.message.tool_calls[0]
messages += [
    {"role": "assistant", "tool_calls": [call.model_dump(include={"id", "type", "function"})]},
    {"role": "tool", "tool_call_id": call.id, "content": RESULT},
]
chunks = list(client.chat.completions.create(model="chela", messages=messages, tools=tools, stream=True))
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text == "Rain in Oslo.", text

# Responses: whole, continued, streamed, with a tool of the caller.
first = client.responses.create(model="chela", input="hello", instructions="Be brief.")
assert first.output_text == "Hello to you." and first.status == "completed"
assert first.usage.input_tokens > 0
next_one = client.responses.create(model="chela", input="hello", previous_response_id=first.id)
assert next_one.previous_response_id == first.id
with client.responses.stream(model="chela", input="hello") as stream:
    kinds = [event.type for event in stream]
    assert stream.get_final_response().output_text == "Hello to you."
order = [
    "response.created", "response.in_progress", "response.output_item.added",
    "response.content_part.added", "response.output_text.delta", "response.output_text.done",
    "response.content_part.done", "response.output_item.done", "response.completed",
]
assert [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind] == order, kinds
tools = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}]
asked = client.responses.create(model="chela", input=ASK, tools=tools)
call = next(item for item in asked.output if item.type == "function_call")
assert json.loads(call.arguments) == {"city": "Oslo"}, asked
told = client.responses.create(
    model="chela", tools=tools, previous_response_id=asked.id,
    input=[{"type": "function_call_output", "call_id": call.call_id, "output": RESULT}],
)
assert told.output_text == "Rain in Oslo.", told
with client.responses.stream(model="chela", input=ASK, tools=tools) as stream:
    kinds = [event.type for event in stream]
    call = next(item for item in stream.get_final_response().output if item.type == "function_call")
assert "response.function_call_arguments.done" in kinds, kinds
# A program that keeps what was said by itself.
told = client.responses.create(
    model="chela", tools=tools,
    input=[
        {"role": "user", "content": ASK},
        {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
        {"type": "function_call_output", "call_id": call.call_id, "output": RESULT},
    ],
)
assert told.output_text == "Rain in Oslo.", told

# Anthropic's: whole, streamed, with a tool of the caller.
hello = [{"role": "user", "content": "hello"}]
said = claude.messages.create(model="chela", max_tokens=100, messages=hello, system="Be kind.")
assert said.content[0].text == "Hello to you." and said.stop_reason == "end_turn", said
with claude.messages.stream(model="chela", max_tokens=100, messages=hello) as stream:
    assert "".join(stream.text_stream) == "Hello to you."
    assert stream.get_final_message().usage.output_tokens > 0
tools = [{"name": "get_weather", "description": "Weather", "input_schema": SCHEMA}]
for streamed in (False, True):
    messages = [{"role": "user", "content": ASK}]
    if streamed:
        with claude.messages.stream(model="chela", max_tokens=100, messages=messages, tools=tools) as stream:
            asked = stream.get_final_message()
    else:
        asked = claude.messages.create(model="chela", max_tokens=100, messages=messages, tools=tools)
    assert asked.stop_reason == "tool_use", asked
    call = next(block for block in asked.content if block.type == "tool_use")
    assert call.input == {"city": "Oslo"}, asked
    messages += [
        {"role": "assistant", "content": [block.model_dump() for block in asked.content]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT}]},
    ]
    told = claude.messages.create(model="chela", max_tokens=100, messages=messages, tools=tools)
    assert told.content[0].text == "Rain in Oslo.", told

# Errors are the clients' own kinds.
stranger = openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0)
is_refused(openai.AuthenticationError, "no token", stranger.models.list)
is_refused(openai.NotFoundError, "no such model",
           lambda: client.chat.completions.create(model="gpt-5", messages=hello))
is_refused(openai.BadRequestError, "no messages",
           lambda: client.chat.completions.create(model="chela", messages=[]))
is_refused(openai.BadRequestError, "a name of the agent's own",
           lambda: client.responses.create(model="chela", input="x", tools=[
               {"type": "function", "name": "exec", "parameters": SCHEMA, "strict": False}]))
is_refused(openai.NotFoundError, "no such answer",
           lambda: client.responses.create(model="chela", input="x", previous_response_id="resp_0"))
stranger = anthropic.Anthropic(base_url=url, api_key="wrong", max_retries=0)
is_refused(anthropic.AuthenticationError, "no token",
           lambda: stranger.messages.create(model="chela", max_tokens=9, messages=hello))
is_refused(anthropic.NotFoundError, "no such model",
           lambda: claude.messages.create(model="claude-5", max_tokens=9, messages=hello))
is_refused(anthropic.BadRequestError, "no messages",
           lambda: claude.messages.create(model="chela", max_tokens=9, messages=[]))
print("python: all right")
