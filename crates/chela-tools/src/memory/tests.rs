use serde_json::json;

use chela_core::Trust;

use crate::OutputPiece;
use crate::toolbox::tests::ToolboxFixture;

#[test]
fn notes_are_found_and_read() {
    let bench = ToolboxFixture::new();
    bench.put(
        "MEMORY.md",
        "# People\n\n- The neighbour's dog is called Bello.\n",
    );
    bench.put("memory/2026-03-04.md", "Bought a ladder.\n");
    let output = bench.run("memory_search", json!({"query": "name of the dog"}));
    assert!(output.text().contains("Bello"), "{}", output.text());
    match &output.content[0] {
        OutputPiece::Text(text) => assert!(text.trust() <= Trust::Owner),
        OutputPiece::Image { .. } => panic!("text"),
    }
    let got = bench.said("memory_get", json!({"path": "memory/2026-03-04.md"}));
    assert!(got.contains("Bought a ladder."), "{got}");
}

#[test]
fn what_is_no_memory_is_refused() {
    let bench = ToolboxFixture::new();
    bench.put("secret.txt", "x");
    let all = [
        bench.refused("memory_get", json!({"path": "secret.txt"})),
        bench.refused("memory_get", json!({"path": "../chela.json"})),
        bench.refused("memory_get", json!({"path": "memory/2020-01-01.md"})),
        bench.refused("memory_search", json!({"query": ""})),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    secret.txt is not part of memory. Use a path exactly as memory_search returned it, such as MEMORY.md or memory/2026-03-04.md.
    ../chela.json is not part of memory. Use a path exactly as memory_search returned it, such as MEMORY.md or memory/2026-03-04.md.
    memory/2020-01-01.md does not exist. Call memory_search to find the right path.
    memory_search: argument `query` is ""; expected text that is not empty. Example of a valid call: {"query":"birthday of the neighbour"}
    "#);
}
