// Loads a plugin written for OpenClaw and answers for it in lines of JSON-RPC: hooks by their names, tools as an
// MCP server has them. What it registers besides is told and not used.
import { createInterface } from "node:readline";
import { registerHooks } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import path from "node:path";

const [, , entry, settings = "{}"] = process.argv;
// Standard output is for answers; what a plugin prints goes to its log.
const send = process.stdout.write.bind(process.stdout);
for (const level of ["log", "info", "debug", "warn", "error"]) {
  console[level] = (...words) => process.stderr.write(words.map(String).join(" ") + "\n");
}
process.stdout.write = (text, ...rest) => process.stderr.write(text, ...rest);

const SCHEMA_MODULE = `
const kind = (type) => (more = {}) => ({ type, ...more });
export const Type = {
  String: kind("string"), Number: kind("number"), Integer: kind("integer"), Boolean: kind("boolean"), Null: kind("null"),
  Any: (more = {}) => ({ ...more }), Unknown: (more = {}) => ({ ...more }),
  Literal: (value, more = {}) => ({ const: value, ...more }),
  Array: (items, more = {}) => ({ type: "array", items, ...more }),
  Union: (anyOf, more = {}) => ({ anyOf, ...more }),
  Enum: (values, more = {}) => ({ enum: Object.values(values), ...more }),
  Record: (_, value, more = {}) => ({ type: "object", additionalProperties: value, ...more }),
  Optional: (schema) => ({ ...schema, [Symbol.for("optional")]: true }),
  Unsafe: (schema) => schema,
  Object: (properties, more = {}) => ({
    type: "object", properties,
    required: Object.keys(properties).filter((name) => !properties[name][Symbol.for("optional")]), ...more,
  }),
};
export default Type;`;

const SDK_MODULE = `
const same = (value) => value;
export const definePluginEntry = same;
export const definePlugin = same;
export const defineToolPlugin = same;
export const emptyPluginConfigSchema = () => ({ type: "object", additionalProperties: false, properties: {} });
export const stringEnum = (values, more = {}) => ({ type: "string", enum: [...values], ...more });
export const optionalStringEnum = (values, more = {}) => ({ type: "string", enum: [...values], ...more });
export const jsonResult = (value) => ({ content: [{ type: "text", text: JSON.stringify(value, null, 2) }], details: value });
export const textResult = (text, details) => ({ content: [{ type: "text", text }], details });
export const readStringParam = (params, key, options = {}) => {
  const value = params?.[key];
  if (typeof value === "string" && value.trim()) return options.trim === false ? value : value.trim();
  if (options.required) throw new Error(key + " required");
  return undefined;
};
export const readNumberParam = (params, key) => {
  const value = Number(params?.[key]);
  return Number.isFinite(value) ? value : undefined;
};
export default {};`;

// Of the many names there are to import, those nobody knows here do nothing, and say so.
const UNKNOWN = `
const unknown = (name) => new Proxy(function () {}, {
  get: (target, key) => (typeof key === "symbol" || key === "then" ? undefined : unknown(name + "." + String(key))),
  apply: () => { console.warn("not known here: " + name); return unknown(name); },
  construct: () => unknown(name),
});`;

function sdkFor(specifier, parent) {
  if (!parent?.startsWith("file:")) return SDK_MODULE;
  const wanted = new Set();
  const importing = /(?:import|export)\s[^;"']*?\{([^}]*)\}\s*from\s*["']([^"']+)["']/g;
  for (const [, names, from] of readFileSync(fileURLToPath(parent), "utf8").matchAll(importing)) {
    if (from !== specifier) continue;
    for (const name of names.split(",")) {
      const plain = name.trim().replace(/^type\s+/, "").split(/\s+as\s+/)[0];
      if (/^[A-Za-z_$][\w$]*$/.test(plain) && plain !== "default") wanted.add(plain);
    }
  }
  const missing = [...wanted].filter((name) => !SDK_MODULE.includes(`export const ${name} =`));
  return SDK_MODULE + UNKNOWN + missing.map((name) => `\nexport const ${name} = unknown("${name}");`).join("");
}

const asModule = (text) => "data:text/javascript," + encodeURIComponent(text);
registerHooks({
  resolve(specifier, context, next) {
    if (/^(openclaw|clawdbot|moltbot)(\/plugin-sdk.*)?$/.test(specifier)) return { url: asModule(sdkFor(specifier, context.parentURL)), shortCircuit: true };
    if (/^(@sinclair\/)?typebox$/.test(specifier)) {
      try { return next(specifier, context); } catch { return { url: asModule(SCHEMA_MODULE), shortCircuit: true }; }
    }
    try {
      return next(specifier, context);
    } catch (error) {
      // Sources name the files they become.
      if (/^\.{1,2}\//.test(specifier) && context.parentURL?.startsWith("file:")) {
        const base = path.resolve(path.dirname(fileURLToPath(context.parentURL)), specifier);
        const stem = base.replace(/\.(m|c)?js$/, "");
        for (const file of [stem + ".ts", stem + ".mts", stem + ".js", stem + "/index.ts", stem + "/index.js"]) {
          if (existsSync(file)) return { url: pathToFileURL(file).href, shortCircuit: true };
        }
      }
      throw error;
    }
  },
});

const tools = new Map();
const hooks = new Map();
const unused = [];
const logger = { info: console.info, warn: console.warn, error: console.error, debug: console.debug, trace: console.debug };

function addHook(names, handler, options = {}) {
  for (const name of [names].flat()) {
    const list = hooks.get(name) ?? [];
    list.push({ handler, priority: options?.priority ?? 0 });
    list.sort((one, other) => other.priority - one.priority);
    hooks.set(name, list);
  }
}

function addTool(given, options = {}) {
  const made = typeof given === "function" ? given({ config: {}, workspaceDir: process.cwd(), sandboxed: true }) : given;
  for (const tool of [made].flat()) {
    if (tool?.name) tools.set(tool.name, tool);
    else if (options.name) unused.push("tool " + options.name);
  }
}

const config = JSON.parse(settings);
const known = {
  id: process.env.CHELA_PLUGIN_ID, name: process.env.CHELA_PLUGIN_ID, version: "", source: entry, origin: "workspace",
  config: { plugins: { entries: { [process.env.CHELA_PLUGIN_ID]: { enabled: true, config } } } },
  pluginConfig: config, logger,
  runtime: { version: "2026.9.0", logger, logging: { getChildLogger: () => logger, shouldLogVerbose: () => false },
    config: { loadConfig: () => ({}), current: () => ({}) }, state: { resolveStateDir: () => process.env.HOME } },
  on: addHook, registerHook: addHook, registerTool: addTool,
  resolvePath: (name) => path.resolve(path.dirname(entry), name),
};
const api = new Proxy(known, {
  get(target, name) {
    if (name in target || typeof name !== "string") return target[name];
    if (!/^register|^on[A-Z]/.test(name)) return undefined;
    // What has no place here is told, so that its owner knows.
    return (...words) => { unused.push(name + (typeof words[0] === "string" ? " " + words[0] : words[0]?.id ? " " + words[0].id : "")); };
  },
});

const loaded = (async () => {
  const module = await import(pathToFileURL(entry).href);
  let plugin = module.default ?? module;
  plugin = plugin?.default ?? plugin;
  const register = typeof plugin === "function" ? plugin : (plugin?.register ?? plugin?.activate ?? module.register ?? module.activate);
  if (typeof register !== "function") throw new Error("it exports no register function");
  await register.call(plugin, api);
  for (const what of unused) console.warn("not used here: " + what);
})();

// Whoever asks is told what is wrong; the log has all of it.
loaded.catch((error) => console.error(error?.stack ?? error));

async function callHook(name, told) {
  const aliases = { before_prompt_build: ["before_prompt_build", "before_agent_start"] };
  const context = { agentId: told.agentId, sessionKey: told.sessionKey, sessionId: told.sessionId,
    workspaceDir: told.workspaceDir, toolName: told.toolName, trigger: told.trigger, messageProvider: told.channel };
  const event = { messages: [], ...told };
  let answer;
  for (const alias of aliases[name] ?? [name]) {
    for (const { handler } of hooks.get(alias) ?? []) {
      const said = await handler(event, context);
      if (!said || typeof said !== "object") continue;
      answer ??= {};
      for (const [key, value] of Object.entries(said)) {
        const joins = /^(prepend|append)(System)?Context$/.test(key) && typeof answer[key] === "string";
        if (joins) answer[key] += "\n\n" + value;
        else if (!(key in answer)) answer[key] = value;
      }
    }
  }
  return answer ?? null;
}

const textOf = (result) => {
  if (typeof result === "string") return [{ type: "text", text: result }];
  const content = Array.isArray(result?.content) ? result.content : [{ type: "text", text: JSON.stringify(result ?? null) }];
  return content.map((piece) => (piece?.type === "image" && piece.data ? piece : { type: "text", text: String(piece?.text ?? JSON.stringify(piece)) }));
};

async function answer(method, params) {
  if (method === "ping") return {};
  if (method === "initialize") {
    await loaded;
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: process.env.CHELA_PLUGIN_ID ?? "plugin", version: "0" } };
  }
  await loaded;
  if (method === "chela/describe") return { hooks: [...hooks.keys()], tools: [...tools.keys()], unused };
  if (method === "tools/list") {
    return { tools: [...tools.values()].map((tool) => ({ name: tool.name, description: tool.description ?? tool.label ?? "",
      inputSchema: JSON.parse(JSON.stringify(tool.parameters ?? tool.inputSchema ?? { type: "object" })) })) };
  }
  if (method === "tools/call") {
    const tool = tools.get(params.name);
    if (!tool) throw Object.assign(new Error("no such tool"), { code: -32602 });
    try {
      const run = tool.execute ?? tool.handler;
      const result = run.length === 1 ? await run.call(tool, params.arguments ?? {}) : await run.call(tool, "call", params.arguments ?? {}, undefined, () => {});
      return { content: textOf(result), isError: result?.isError === true };
    } catch (error) {
      return { content: [{ type: "text", text: String(error?.message ?? error) }], isError: true };
    }
  }
  const isHook = /^[a-z_:]+$/.test(method);
  if (!isHook) throw Object.assign(new Error("no method " + method), { code: -32601 });
  return callHook(method, params ?? {});
}

const say = (message) => send(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
createInterface({ input: process.stdin }).on("line", async (line) => {
  let message;
  try { message = JSON.parse(line); } catch { return; }
  if (message.id === undefined || message.id === null) return;
  try {
    say({ id: message.id, result: (await answer(message.method, message.params)) ?? null });
  } catch (error) {
    const code = Number.isInteger(error?.code) ? error.code : -32603;
    say({ id: message.id, error: { code, message: String(error?.message ?? error) } });
  }
}).on("close", () => process.exit(0));
