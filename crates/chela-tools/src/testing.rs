//! Running a tool in a test.

use serde_json::{Map, Value};

use crate::{HeadlessApprover, RunCall, Tool, ToolOutput, Toolbox};

/// Runs one call to its end.
pub(crate) fn run(tool: &dyn Tool, arguments: &Map<String, Value>) -> ToolOutput {
    block_on(tool.run(call(arguments)))
}

/// Runs one call as the turn does, the check of arguments included.
pub(crate) fn run_in(toolbox: &Toolbox, tool: &str, arguments: Value) -> ToolOutput {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    block_on(toolbox.run(tool, call(&arguments)))
}

pub(crate) fn call(arguments: &Map<String, Value>) -> RunCall<'_> {
    RunCall {
        id: "c1",
        writes: &crate::CallWrites::Anything,
        arguments,
        progress: &|_| {},
        approver: &HeadlessApprover,
        targets: &[],
        redirects: &crate::AnyRedirect,
        bound: None,
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}
