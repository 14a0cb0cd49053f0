use super::{AnswerFault, EXAMPLE, EndpointScript, LineEnding, ScriptError};

fn error(text: &str) -> String {
    match EndpointScript::parse("s.json", text) {
        Ok(script) => format!("{script:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_example_is_a_script() {
    let script = EndpointScript::parse("example", EXAMPLE).unwrap();
    assert_eq!(script.steps.len(), 8);
    assert_eq!(script.steps[6].fault, Some(AnswerFault::Cut(300)));
    assert_eq!(script.steps[7].line, LineEnding::Crlf);
    assert_eq!(script.otherwise.unwrap().reply, "{{user}}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let told = [
        "{\n  \"steps\": [\n    { \"replay\": \"hi\" }\n  ]\n}",
        "{\n  // a \"comment\"\n  \"steps\": [{ \"reply\": \"http://x\", }]\n}",
        "{ \"steps\": [\n  { \"reply\": \"hi\", \"status\": 500 },\n  {}\n] }",
        "{ \"steps\": [{ \"fault\": { \"cut\": \"soon\" } }] }",
        "{ \"steps\": [{ \"fault\": \"explode\" }] }",
        "{ \"steps\": [{ \"toolCalls\": [{ \"arguments\": {} }] }] }",
        "{ \"otherwise\": { \"status\": 99 } }",
        "{ \"otherwise\": { \"times\": 0 } }",
        "{ \"otherwise\": { \"fault\": \"endless\" } }",
        "",
    ]
    .map(error)
    .join("\n");
    insta::assert_snapshot!(told, @r#"
    s.json:3:14: unknown field `replay`, expected one of `when`, `times`, `delayMs`, `status`, `headers`, `body`, `reply`, `reasoning`, `toolCalls`, `stop`, `usage`, `piece`, `pieceMs`, `write`, `line`, `ping`, `fault`
    s.json:3:36: trailing comma
    s.json:2:34: a step either speaks as a model (reply, reasoning, toolCalls) or sends a plain answer (status, body), not both
    s.json:1:38: invalid type: string "soon", expected usize
    s.json:1:32: unknown variant `explode`, expected one of `cut`, `reset`, `stall`, `error`, `garbage`, `endless`, `endlessLine`
    s.json:1:50: a tool call needs a name
    s.json:1:31: status must be from 200 to 599
    s.json:1:29: piece, write and times must be at least 1
    s.json:1:37: the fault "endless" needs a reply to repeat
    s.json:1:0: EOF while parsing a value
    "#);
    assert!(matches!(
        EndpointScript::read("no/such/script.json".as_ref()),
        Err(ScriptError::Read { .. })
    ));
}
