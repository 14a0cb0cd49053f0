//! Running a tool in a test.

use serde_json::{Map, Value};

use crate::{Call, Headless, Output, Tool, Toolbox};

/// Runs one call to its end.
pub(crate) fn run(tool: &dyn Tool, arguments: &Map<String, Value>) -> Output {
    block_on(tool.run(call(arguments)))
}

/// Runs one call as the turn does, the check of arguments included.
pub(crate) fn run_in(toolbox: &Toolbox, tool: &str, arguments: Value) -> Output {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    block_on(toolbox.run(tool, call(&arguments)))
}

fn call(arguments: &Map<String, Value>) -> Call<'_> {
    Call {
        id: "c1",
        arguments,
        progress: &|_| {},
        approver: &Headless,
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}
