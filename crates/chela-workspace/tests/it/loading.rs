use chela_core::{Audience, Origin, Trust, Zone};
use chela_workspace::{
    ContextInjection, ExecutionFolder, FileNeed, FileStatus, OpenError, SessionScope, TurnPosition,
    Workspace, WorkspaceAge, load_context,
};

use crate::home::{COMPLETE, Home, Plain, file, names, status};

fn everything() -> Home {
    let home = Home::with(&COMPLETE);
    home.write("USER.md", "the owner");
    home.write("HEARTBEAT.md", "- look at the mail");
    home.write("BOOTSTRAP.md", "hello");
    home.write("MEMORY.md", "remember");
    home
}

#[test]
fn the_main_session_gets_everything_in_order() {
    let loaded = everything().load(|plain| plain.age = WorkspaceAge::BrandNew);
    assert_eq!(
        names(&loaded),
        [
            "AGENTS.md",
            "SOUL.md",
            "IDENTITY.md",
            "USER.md",
            "TOOLS.md",
            "BOOTSTRAP.md",
            "MEMORY.md",
            "HEARTBEAT.md",
        ]
    );
    let soul = file(&loaded, "SOUL.md");
    assert_eq!(
        (soul.trust, soul.audience, soul.zone),
        (Trust::Owner, Audience::Shared, Zone::Stable)
    );
    assert_eq!(soul.origin, Origin::file("SOUL.md", "soul"));
    assert_eq!(
        (&*soul.content, soul.raw_chars, soul.injected_chars),
        ("soul", 4, 4)
    );
    assert_eq!(file(&loaded, "HEARTBEAT.md").zone, Zone::Volatile);
    assert_eq!(file(&loaded, "MEMORY.md").audience, Audience::Private);
}

#[test]
fn only_a_brand_new_workspace_reads_bootstrap() {
    let home = everything();
    let loaded = home.load(|_| {});
    assert_eq!(status(&loaded, "BOOTSTRAP.md"), &FileStatus::NotBrandNew);
    home.remove("BOOTSTRAP.md");
    let loaded = home.load(|plain| plain.age = WorkspaceAge::BrandNew);
    assert_eq!(
        status(&loaded, "BOOTSTRAP.md"),
        &FileStatus::Missing {
            need: FileNeed::Optional
        }
    );
    assert!(
        !names(&loaded).contains(&"BOOTSTRAP.md"),
        "no marker makes it feel newborn"
    );
}

#[test]
fn children_get_the_rules_and_what_they_inherit() {
    let home = everything();
    for session in [SessionScope::Subagent, SessionScope::Cron] {
        let loaded = home.load(|plain| plain.session = session);
        assert_eq!(names(&loaded), ["AGENTS.md", "TOOLS.md"]);
        assert_eq!(status(&loaded, "SOUL.md"), &FileStatus::FilteredBySession);
        let loaded = home.load(|plain| {
            plain.session = session;
            plain.age = WorkspaceAge::BrandNew;
            plain.settings.inherit = ["soul.md", "MEMORY.md", "BOOTSTRAP.md"]
                .map(str::to_owned)
                .to_vec();
        });
        assert_eq!(
            names(&loaded),
            ["AGENTS.md", "SOUL.md", "TOOLS.md", "MEMORY.md"]
        );
    }
    let light = home.load(|plain| plain.session = SessionScope::LightHeartbeat);
    assert_eq!(names(&light), ["HEARTBEAT.md"]);
}

#[test]
fn private_files_never_enter_a_shared_session() {
    let home = everything();
    home.write("memory.md", "old memories");
    home.write("team/USER.md", "somebody");
    for session in [
        SessionScope::Main,
        SessionScope::Subagent,
        SessionScope::Cron,
    ] {
        let loaded = home.load(|plain| {
            plain.audience = Audience::Shared;
            plain.session = session;
            plain.settings.inherit = ["USER.md", "MEMORY.md"].map(str::to_owned).to_vec();
            plain.settings.extra_files = vec!["**/USER.md".to_owned()];
        });
        for name in ["USER.md", "MEMORY.md", "memory.md", "team/USER.md"] {
            assert_eq!(
                status(&loaded, name),
                &FileStatus::FilteredByAudience,
                "{name} {session:?}"
            );
        }
        assert!(
            loaded
                .files
                .iter()
                .all(|file| file.audience == Audience::Shared)
        );
    }
}

#[test]
fn lower_case_memory_counts_only_as_a_file_of_its_own() {
    let home = Home::with(&COMPLETE);
    home.write("MEMORY.md", "new");
    home.write("memory.md", "old");
    let loaded = home.load(|_| {});
    assert_eq!(&names(&loaded)[4..], ["MEMORY.md", "memory.md"]);
    home.remove("memory.md");
    std::fs::hard_link(home.dir.join("MEMORY.md"), home.dir.join("memory.md")).unwrap();
    let loaded = home.load(|_| {});
    assert_eq!(&names(&loaded)[4..], ["MEMORY.md"]);
    assert_eq!(
        status(&loaded, "memory.md"),
        &FileStatus::SameFile {
            name: "MEMORY.md".into()
        }
    );
}

#[test]
fn missing_and_blank_files() {
    let home = Home::with(&[
        ("AGENTS.md", "rules"),
        ("USER.md", " \n\n"),
        ("SOUL.md", "---\na: b\n---\n"),
    ]);
    home.write("HEARTBEAT.md", "# Heartbeat\n<!-- nothing -->\n- [ ]\n");
    let loaded = home.load(|_| {});
    assert_eq!(names(&loaded), ["AGENTS.md", "IDENTITY.md", "TOOLS.md"]);
    let identity = file(&loaded, "IDENTITY.md");
    assert_eq!(
        identity.status,
        FileStatus::Missing {
            need: FileNeed::Required
        }
    );
    assert!(
        identity.content.contains("no IDENTITY.md"),
        "{}",
        identity.content
    );
    assert_eq!(identity.origin, Origin::BuiltIn);
    for name in ["USER.md", "SOUL.md", "HEARTBEAT.md"] {
        assert_eq!(status(&loaded, name), &FileStatus::Blank, "{name}");
    }
    assert_eq!(
        status(&loaded, "MEMORY.md"),
        &FileStatus::Missing {
            need: FileNeed::Optional
        }
    );

    let loaded = home.load(|plain| plain.settings.skip_optional = vec!["IDENTITY.md".into()]);
    assert_eq!(
        names(&loaded),
        ["AGENTS.md", "TOOLS.md"],
        "not missed when left out on purpose"
    );
    let child = home.load(|plain| plain.session = SessionScope::Subagent);
    assert_eq!(
        names(&child),
        ["AGENTS.md", "TOOLS.md"],
        "a child does not miss IDENTITY.md"
    );
}

#[test]
fn the_operator_can_turn_injection_off() {
    let home = everything();
    let off = home.load(|plain| plain.settings.skip = true);
    assert!(off.files.is_empty());
    let key = "agents.defaults.skipBootstrap";
    assert_eq!(
        status(&off, "SOUL.md"),
        &FileStatus::DisabledByConfig { key }
    );
    let never = home.load(|plain| plain.settings.injection = ContextInjection::Never);
    assert!(never.files.is_empty());
    let on_turn = |turn| {
        home.load(|plain| {
            plain.settings.injection = ContextInjection::ContinuationSkip;
            plain.turn = turn;
        })
    };
    assert!(on_turn(TurnPosition::Continuation).files.is_empty());
    assert_eq!(on_turn(TurnPosition::Full).files.len(), 7);
}

#[test]
fn extra_files_are_found_by_pattern_and_known_by_name() {
    let home = everything();
    home.write("packages/api/AGENTS.md", "api rules");
    home.write("packages/api/README.md", "not context");
    let loaded = home.load(|plain| {
        plain.settings.extra_files = vec!["packages/**/*.md".into(), "SOUL.md".into()];
        plain.settings.dynamic = vec!["packages/api/AGENTS.md".into()];
    });
    assert_eq!(
        &names(&loaded)[..3],
        ["AGENTS.md", "packages/api/AGENTS.md", "SOUL.md"]
    );
    assert_eq!(file(&loaded, "packages/api/AGENTS.md").zone, Zone::Volatile);
    assert_eq!(file(&loaded, "AGENTS.md").zone, Zone::Stable);
    assert_eq!(
        status(&loaded, "packages/api/README.md"),
        &FileStatus::UnknownName
    );
}

#[test]
fn w03_the_execution_folder_gives_its_rules_and_nothing_else() {
    let home = everything();
    let project = home.temp.path().join("project");
    std::fs::create_dir(&project).unwrap();
    for name in ["AGENTS.md", "SOUL.md", "MEMORY.md"] {
        std::fs::write(project.join(name), format!("project {name}")).unwrap();
    }
    let plain = Plain::default();
    let workspace = home.workspace();
    let load_in = |dir| {
        let execution = Some(ExecutionFolder {
            dir,
            trust: Trust::External,
        });
        load_context(
            &workspace,
            &chela_workspace::LoadRequest {
                execution,
                ..plain.request()
            },
        )
    };
    let loaded = load_in(project.as_path());
    let project = std::fs::canonicalize(&project).unwrap();
    let last = loaded.files.last().unwrap();
    assert_eq!(last.path, project.join("AGENTS.md"));
    assert_eq!(
        last.shown_path,
        project.join("AGENTS.md").display().to_string()
    );
    assert_eq!(
        (&*last.content, last.trust),
        ("project AGENTS.md", Trust::External)
    );
    let from_project = loaded
        .files
        .iter()
        .filter(|file| file.content.contains("project"))
        .count();
    assert_eq!(from_project, 1);
    assert_eq!(
        loaded.files[0].shown_path,
        home.dir.join("AGENTS.md").display().to_string(),
        "relative names would mean the project's files"
    );
    assert_eq!(
        names(&load_in(&home.dir)),
        names(&plain.load(&workspace)),
        "the workspace itself"
    );
}

#[test]
fn changes_on_disk_are_seen() {
    let home = everything();
    let workspace = home.workspace();
    let plain = Plain::default();
    let soul = || file(&plain.load(&workspace), "SOUL.md").content.clone();
    assert_eq!(&*soul(), "soul");
    let first = soul();
    assert!(
        std::sync::Arc::ptr_eq(&first, &soul()),
        "unchanged files are not read again"
    );
    home.write("SOUL.md", "luos");
    let path = home.dir.join("SOUL.md");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(later)
        .unwrap();
    assert_eq!(&*soul(), "luos", "same size, other time");
    // Same size and same time, but another file.
    home.write("new", "LUOS");
    let copy = home.dir.join("new");
    std::fs::File::options()
        .write(true)
        .open(&copy)
        .unwrap()
        .set_modified(later)
        .unwrap();
    std::fs::rename(&copy, &path).unwrap();
    assert_eq!(&*soul(), "LUOS");
    home.remove("SOUL.md");
    assert!(soul().contains("no SOUL.md"));
}

#[test]
fn loading_twice_gives_the_same() {
    let home = everything();
    let plain = Plain::default();
    let workspace = home.workspace();
    assert_eq!(plain.load(&workspace), plain.load(&workspace));
}

#[test]
fn a_workspace_must_be_a_folder() {
    let home = Home::new();
    let open = |path: &str| Workspace::open(&home.host, &home.dir.join(path)).unwrap_err();
    assert!(matches!(open("nowhere"), OpenError::Absent(_)));
    home.write("file", "x");
    assert!(matches!(open("file"), OpenError::NotAFolder(_)));
    assert!(open("nowhere").to_string().contains("chela init"));
}

#[test]
fn a_file_that_just_changed_is_not_taken_from_memory() {
    let mut home = everything();
    let modified = home
        .dir
        .join("MEMORY.md")
        .metadata()
        .unwrap()
        .modified()
        .unwrap();
    let reads_again = |home: &Home| {
        let (workspace, plain) = (home.workspace(), Plain::default());
        let content = || file(&plain.load(&workspace), "MEMORY.md").content.clone();
        !std::sync::Arc::ptr_eq(&content(), &content())
    };
    let at = |millis| {
        let now = modified + std::time::Duration::from_millis(millis);
        std::sync::Arc::new(chela_core::FixedClock(now))
    };
    home.host.clock = at(20);
    assert!(
        reads_again(&home),
        "it could change again within the same tick"
    );
    home.host.clock = at(60_000);
    assert!(!reads_again(&home));
}

#[test]
fn a_link_does_not_make_private_text_public() {
    let home = everything();
    home.write("memory/2026-01-01.md", "a private day");
    home.remove("TOOLS.md");
    home.remove("SOUL.md");
    std::os::unix::fs::symlink("MEMORY.md", home.dir.join("TOOLS.md")).unwrap();
    std::os::unix::fs::symlink("memory/2026-01-01.md", home.dir.join("SOUL.md")).unwrap();
    let loaded = home.load(|plain| plain.audience = Audience::Shared);
    for name in ["TOOLS.md", "SOUL.md"] {
        assert_eq!(
            status(&loaded, name),
            &FileStatus::FilteredByAudience,
            "{name}"
        );
    }
}
