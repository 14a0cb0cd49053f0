use crate::chunk::{ChunkCut, MessageSpeaker, NoteChunk};

fn spoken(text: &str) -> Vec<String> {
    ChunkCut::default()
        .markdown("memory/chat.md", text)
        .iter()
        .map(|unit: &NoteChunk| {
            let role = match unit.speaker {
                Some(MessageSpeaker::User) => "user",
                Some(MessageSpeaker::Assistant) => "assistant",
                Some(MessageSpeaker::Other) => unit.said_by.as_str(),
                None => "-",
            };
            format!("{role}|{}", unit.body().replace('\n', "/"))
        })
        .collect()
}

#[test]
fn roles_are_known_however_they_are_written() {
    for text in [
        "User: a dog\n\nAssistant: nice\n\nUser: yes\n",
        "**User:** a dog\n\n**Assistant:** nice\n\n**User:** yes\n",
        "**User**: a dog\n\n**Assistant**: nice\n\n**User**: yes\n",
        "- **user:** a dog\n- **assistant:** nice\n- **user:** yes\n",
        "[10:31] User: a dog\n\n[10:32] Assistant: nice\n\n[10:33] User: yes\n",
        "<user> a dog\n\n<assistant> nice\n\n<user> yes\n",
        "User (10:31): a dog\n\nAssistant (10:32): nice\n\nUser (10:33): yes\n",
        "**User**\na dog\n\n**Assistant**\nnice\n\n**User**\nyes\n",
        "## User\n\na dog\n\n## Assistant\n\nnice\n\n## User\n\nyes\n",
        "### Human:\na dog\n\n### AI:\nnice\n\n### Human:\nyes\n",
    ] {
        assert_eq!(
            spoken(text),
            ["user|a dog", "assistant|nice", "user|yes"],
            "{text}"
        );
    }
}

#[test]
fn a_long_answer_is_one_message() {
    let text = "User: how?\n\nAssistant: like this:\n\n- first\n- second\n\n```\ncode\n```\n\n# Then\n\nthat\n\nUser: thanks\n";
    assert_eq!(
        spoken(text),
        [
            "user|how?",
            "assistant|like this:",
            "assistant|first",
            "assistant|second",
            "assistant|```/code/```",
            "assistant|that",
            "user|thanks"
        ]
    );
}

#[test]
fn names_speak_and_keys_do_not() {
    let text = "- Ann: hi\n- Bob: hello\n- Ann: how are you?\n- Bob: well\n- Ann: good\n- Bob: bye\n- Due: Friday\n";
    let told = spoken(text);
    assert_eq!(told[0], "Ann|hi");
    assert_eq!(told[6], "-|Due: Friday");
    let exported = "08.05.23, 10:32 - Ann: hi there\n\n08.05.23, 10:33 - Bob: hello\n\n08.05.23, 10:34 - Ann: bye\n\n08.05.23, 10:35 - Bob: ciao\n";
    assert_eq!(
        spoken(exported),
        ["Ann|hi there", "Bob|hello", "Ann|bye", "Bob|ciao"]
    );
    let form = "Name: Ada\n\nCity: Faro\n\nUser: yes\n";
    assert!(spoken(form).iter().all(|unit| unit.starts_with("-|")));
}
