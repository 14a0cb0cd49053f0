// The official client for Node: over lines, then over HTTP.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [program, url, token] = process.argv.slice(2);
const root = path.join(process.cwd(), "node_modules", "@modelcontextprotocol", "sdk", "dist", "esm", "client");
const load = (file) => import(pathToFileURL(path.join(root, file)).href);
createRequire(import.meta.url);
const { Client } = await load("index.js");
const { StdioClientTransport } = await load("stdio.js");
const { StreamableHTTPClientTransport } = await load("streamableHttp.js");

async function search(transport) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const { tools } = await client.listTools();
  if (!tools.some((tool) => tool.name === "memory_search")) throw new Error("no memory_search");
  const found = await client.callTool({ name: "memory_search", arguments: { query: "colour of the tulips" } });
  console.log(found.content[0].text);
  await client.close();
}

await search(new StdioClientTransport({ command: program, args: ["mcp", "serve"], env: process.env }));
await search(new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { Authorization: `Bearer ${token}` } },
}));
