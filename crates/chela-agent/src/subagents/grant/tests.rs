use std::collections::BTreeSet;
use std::path::PathBuf;

use chela_core::{AgentId, SessionKey, Trust};
use chela_session::EntryBody;
use proptest::prelude::*;

use super::{ChildShare, SessionGrant, SpendingPayer};

const TOOLS: [&str; 5] = ["read", "write", "exec", "web_fetch", "sessions_spawn"];
const PATHS: [&str; 6] = ["/", "/a", "/a/b", "/a/b/c", "/d", "/a/../d"];
const TRUST: [Trust; 5] = [
    Trust::External,
    Trust::Plugin,
    Trust::Agent,
    Trust::Owner,
    Trust::Operator,
];

fn payer(turn: &str) -> SpendingPayer {
    SpendingPayer {
        agent: "main".into(),
        session: "s".into(),
        turn: turn.into(),
        job: "chat".into(),
    }
}

fn shares() -> impl Strategy<Value = ChildShare> {
    let tools = proptest::sample::subsequence(TOOLS.to_vec(), 0..=TOOLS.len());
    let paths = proptest::sample::subsequence(PATHS.to_vec(), 0..=PATHS.len());
    let number = || proptest::option::of(0u64..50);
    (
        tools,
        proptest::option::of(paths),
        (number(), number()),
        proptest::sample::select(TRUST.to_vec()),
        0u32..5,
        "[a-c]",
    )
        .prop_map(
            |(tools, paths, (steps, seconds), trust, levels, turn)| ChildShare {
                tools: tools.into_iter().map(str::to_owned).collect(),
                paths: paths.map(|paths| paths.into_iter().map(PathBuf::from).collect()),
                steps,
                seconds,
                trust,
                levels,
                payer: payer(&turn),
            },
        )
}

/// Spelled out beside [`SessionGrant::covers`], so that the two can disagree.
fn has_no_more(child: &SessionGrant, parent: &SessionGrant) -> bool {
    let every_tool = TOOLS
        .iter()
        .all(|tool| parent.allows_tool(tool) || !child.allows_tool(tool));
    let places = PATHS.iter().all(|path| {
        let one = BTreeSet::from([PathBuf::from(path)]);
        parent.allows_paths(Some(&one)) || !child.allows_paths(Some(&one))
    });
    let everywhere = parent.allows_paths(None) || !child.allows_paths(None);
    let bounded = |child: Option<u64>, parent: Option<u64>| match (child, parent) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(child), Some(parent)) => child <= parent,
    };
    every_tool
        && places
        && everywhere
        && bounded(child.steps(), parent.steps())
        && bounded(child.seconds(), parent.seconds())
        && child.trust() <= parent.trust()
        && child.levels() <= parent.levels()
        && (parent.payer().is_none() || parent.payer() == child.payer())
}

proptest! {
    /// However often and with whatever wishes sub-agents start sub-agents: none has more than
    /// any of those above it.
    #[test]
    fn no_row_of_spawns_leads_up(wishes in proptest::collection::vec(shares(), 1..8)) {
        let mut line = vec![SessionGrant::whole()];
        for wish in wishes {
            let parent = line.last().unwrap();
            let Some(child) = parent.child(wish) else { break };
            for above in &line {
                prop_assert!(has_no_more(&child, above), "{child:?} above {above:?}");
            }
            line.push(child);
        }
        prop_assert!(line.len() <= 3, "two levels at most");
    }

    #[test]
    fn meeting_and_storing_give_no_more(one in shares(), other in shares()) {
        let one = SessionGrant::whole().child(one).unwrap();
        let other = SessionGrant::whole().child(other).unwrap();
        let both = one.meet(&other);
        prop_assert!(has_no_more(&both, &one));
        let text = serde_json::to_string(&both).unwrap();
        prop_assert_eq!(&serde_json::from_str::<SessionGrant>(&text).unwrap(), &both);
        prop_assert!(has_no_more(&both.trusted(Trust::Agent), &both));
    }
}

#[test]
fn a_path_that_climbs_is_no_path() {
    let wish = ChildShare {
        tools: BTreeSet::new(),
        paths: Some(BTreeSet::from([PathBuf::from("/a")])),
        steps: None,
        seconds: None,
        trust: Trust::Agent,
        levels: 1,
        payer: payer("t"),
    };
    let grant = SessionGrant::whole().child(wish).unwrap();
    let climbing = BTreeSet::from([PathBuf::from("/a/../etc")]);
    assert!(!grant.allows_paths(Some(&climbing)));
    assert!(!grant.allows_paths(None));
}

#[test]
fn a_grant_that_cannot_be_read_gives_nothing() {
    let key = SessionKey::main(&AgentId::main());
    let EntryBody::Custom(mut custom) = SessionGrant::whole().entry_for(&key) else {
        panic!("another kind of entry");
    };
    let whole = EntryBody::Custom(custom.clone());
    assert_eq!(
        SessionGrant::in_entry(&whole, &key),
        Some(SessionGrant::whole())
    );
    custom.data["grant"]["trust"] = "king".into();
    let broken = SessionGrant::in_entry(&EntryBody::Custom(custom), &key).unwrap();
    let met = broken.meet(&SessionGrant::whole());
    assert!(!met.allows_tool("read") && !met.allows_paths(None));
    assert_eq!((met.trust(), met.levels()), (Trust::External, 0));
}
