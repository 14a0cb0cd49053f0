//! The names of the semantic conventions for generative AI, each in this one place: the conventions
//! are still in development and rename things.

pub const OPERATION: &str = "gen_ai.operation.name";
pub const PROVIDER: &str = "gen_ai.provider.name";
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
pub const CONVERSATION: &str = "gen_ai.conversation.id";
pub const AGENT: &str = "gen_ai.agent.name";
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub const CACHE_WRITE: &str = "gen_ai.usage.cache_write.input_tokens";
pub const TOOL: &str = "gen_ai.tool.name";
pub const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub const TOKEN_TYPE: &str = "gen_ai.token.type";
pub const ERROR: &str = "error.type";

pub const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
pub const CALL_DURATION: &str = "gen_ai.client.operation.duration";

/// What Chela says besides.
pub const SESSION_KEY: &str = "chela.session.key";
pub const STEP: &str = "chela.turn.step";
pub const MICRO_DOLLARS: &str = "chela.cost.micro_dollars";

/// Values of [`OPERATION`].
pub const CHAT: &str = "chat";
pub const INVOKE_AGENT: &str = "invoke_agent";
pub const EXECUTE_TOOL: &str = "execute_tool";
