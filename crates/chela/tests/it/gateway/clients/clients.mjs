// The official Node clients of OpenAI and Anthropic against a gateway. Given: the folder they are
// installed in, URL, token.

import assert from "node:assert";
import { createRequire } from "node:module";

const [folder, url, token] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const OpenAI = require("openai").default ?? require("openai");
const Anthropic = require("@anthropic-ai/sdk").default ?? require("@anthropic-ai/sdk");

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
const claude = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 0 });

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const ASK = "What is the weather in Oslo?";
const RESULT = "7 degrees and rain";
const hello = [{ role: "user", content: "hello" }];

const models = [];
for await (const model of client.models.list()) models.push(model.id);
assert.deepEqual(models, ["chela", "chela/main"]);
const vectors = await client.embeddings.create({ model: "local", input: "tea" });
assert(vectors.data[0].embedding.length > 10);

const said = await client.chat.completions.create({ model: "chela", messages: hello });
assert.equal(said.choices[0].message.content, "Hello to you.");
let text = "";
for await (const chunk of await client.chat.completions.create({ model: "chela", messages: hello, stream: true }))
  text += chunk.choices[0]?.delta?.content ?? "";
assert.equal(text, "Hello to you.");

// The client runs the tool by itself and goes on.
const runner = client.chat.completions.runTools({
  model: "chela",
  messages: [{ role: "user", content: ASK }],
  tools: [{
    type: "function",
    function: {
      name: "get_weather",
      parameters: schema,
      parse: JSON.parse,
      function: ({ city }) => { assert.equal(city, "Oslo"); return RESULT; },
    },
  }],
});
assert.equal(await runner.finalContent(), "Rain in Oslo.");

const stream = client.responses.stream({ model: "chela", input: "hello" });
const kinds = [];
for await (const event of stream) kinds.push(event.type);
assert.equal(kinds[0], "response.created");
assert.equal(kinds.at(-1), "response.completed");
assert.equal((await stream.finalResponse()).output_text, "Hello to you.");
const tools = [{ type: "function", name: "get_weather", parameters: schema, strict: false }];
const asked = await client.responses.create({ model: "chela", input: ASK, tools });
const call = asked.output.find((item) => item.type === "function_call");
const told = await client.responses.create({
  model: "chela", tools, previous_response_id: asked.id,
  input: [{ type: "function_call_output", call_id: call.call_id, output: RESULT }],
});
assert.equal(told.output_text, "Rain in Oslo.");

const message = await claude.messages.create({ model: "chela", max_tokens: 100, messages: hello });
assert.equal(message.content[0].text, "Hello to you.");
const messages = [{ role: "user", content: ASK }];
const claudeTools = [{ name: "get_weather", input_schema: schema }];
const used = await claude.messages
  .stream({ model: "chela", max_tokens: 100, messages, tools: claudeTools })
  .finalMessage();
assert.equal(used.stop_reason, "tool_use");
const block = used.content.find((part) => part.type === "tool_use");
assert.deepEqual(block.input, { city: "Oslo" });
messages.push(
  { role: "assistant", content: used.content },
  { role: "user", content: [{ type: "tool_result", tool_use_id: block.id, content: RESULT }] },
);
const final = await claude.messages.create({ model: "chela", max_tokens: 100, messages, tools: claudeTools });
assert.equal(final.content[0].text, "Rain in Oslo.");

const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 });
await assert.rejects(stranger.chat.completions.create({ model: "chela", messages: hello }), OpenAI.AuthenticationError);
await assert.rejects(client.chat.completions.create({ model: "gpt-5", messages: hello }), OpenAI.NotFoundError);
await assert.rejects(client.chat.completions.create({ model: "chela", messages: [] }), OpenAI.BadRequestError);
await assert.rejects(claude.messages.create({ model: "none", max_tokens: 9, messages: hello }), Anthropic.NotFoundError);
console.log("node: all right");
