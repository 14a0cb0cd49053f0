//! Whatever is done to trees of sessions, a store and a simple model agree.

use std::collections::BTreeMap;

use chela_store::{
    BranchInherited, LeafMove, SessionFork, SessionForked, SessionStore, SessionTree, block_on,
};
use proptest::prelude::*;

use crate::SESSION_STORES;
use crate::session_suite::{append, entry, said, started};

/// What may happen to a session. Sessions and places are taken modulo how many there are.
#[derive(Debug, Clone)]
enum Step {
    /// Says so many things.
    Append {
        session: usize,
        entries: usize,
    },
    Compact {
        session: usize,
    },
    /// Goes so many entries back along the branch.
    Undo {
        session: usize,
        back: usize,
    },
    /// Somebody who saw another leaf tries the same.
    UndoFromElsewhere {
        session: usize,
    },
    Fork {
        session: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let session = || 0_usize..4;
    let step = prop_oneof![
        4 => (session(), 1_usize..4).prop_map(|(session, entries)| Step::Append { session, entries }),
        1 => session().prop_map(|session| Step::Compact { session }),
        3 => (session(), 1_usize..5).prop_map(|(session, back)| Step::Undo { session, back }),
        1 => session().prop_map(|session| Step::UndoFromElsewhere { session }),
        1 => session().prop_map(|session| Step::Fork { session }),
    ];
    prop::collection::vec(step, 1..40)
}

/// A session as a child would keep it.
#[derive(Debug, Clone, Default)]
struct Model {
    /// Parent and kind by number.
    entries: BTreeMap<u32, (u32, &'static str)>,
    leaf: u32,
}

impl Model {
    fn append(&mut self, kind: &'static str) -> u32 {
        let number = self.entries.keys().next_back().copied().unwrap_or(0) + 1;
        self.entries.insert(number, (self.leaf, kind));
        self.leaf = number;
        number
    }

    fn branch(&self) -> Vec<u32> {
        let mut branch = Vec::new();
        let mut at = self.leaf;
        while at > 0 {
            branch.push(at);
            at = self.entries[&at].0;
        }
        branch.reverse();
        branch
    }

    fn last_compaction(&self) -> Option<u32> {
        let mut branch = self.branch();
        branch.retain(|number| self.entries[number].1 == "compaction");
        branch.pop()
    }

    fn child(&self) -> Self {
        let entries = self.branch().into_iter();
        Self {
            entries: entries
                .map(|number| (number, self.entries[&number]))
                .collect(),
            leaf: self.leaf,
        }
    }
}

fn follow(store: &dyn SessionStore, models: &mut Vec<Model>, step: &Step) {
    let name = |session: usize| format!("s{session}");
    let pick = |session: usize| session % models.len();
    match *step {
        Step::Append { session, entries } => {
            let at = pick(session);
            let numbers = append(store, &name(at), vec![said("x"); entries]);
            let model: Vec<u32> = (0..entries).map(|_| models[at].append("message")).collect();
            assert_eq!(numbers, Some(model));
        }
        Step::Compact { session } => {
            let at = pick(session);
            let numbers = append(store, &name(at), vec![entry("compaction", "{}")]);
            assert_eq!(numbers, Some(vec![models[at].append("compaction")]));
        }
        Step::Undo { session, back } => {
            let at = pick(session);
            let branch = models[at].branch();
            let target = branch.iter().rev().nth(back).copied().unwrap_or(0);
            let expected = models[at].leaf;
            let leaf = LeafMove { expected, target };
            assert_eq!(
                block_on(store.move_leaf(&name(at), leaf)).unwrap(),
                Some(true)
            );
            models[at].leaf = target;
        }
        Step::UndoFromElsewhere { session } => {
            let at = pick(session);
            let leaf = LeafMove {
                expected: models[at].leaf + 1,
                target: 0,
            };
            assert_eq!(
                block_on(store.move_leaf(&name(at), leaf)).unwrap(),
                Some(false)
            );
        }
        Step::Fork { session } => {
            let (at, child) = (pick(session), models.len());
            let fork = SessionFork {
                parent: name(at),
                id: name(child),
                key: format!("agent:main:{child}"),
                at: 1,
                settings: "{}".to_owned(),
                ends_why: String::new(),
                most_bytes: u64::MAX,
            };
            let model = models[at].child();
            let entries = model.entries.len();
            let inherits = BranchInherited::Branch { entries };
            assert!(matches!(
                block_on(store.fork(fork)).unwrap(),
                SessionForked::Forked { inherited, .. } if inherited == inherits
            ));
            models.push(model);
        }
    }
}

fn agree(store: &dyn SessionStore, models: &[Model]) {
    for (at, model) in models.iter().enumerate() {
        let id = format!("s{at}");
        let branch = block_on(store.branch(&id)).unwrap().unwrap();
        let numbers: Vec<u32> = branch.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, model.branch());
        assert_eq!(
            block_on(store.last_compaction(&id)).unwrap(),
            model.last_compaction()
        );
        // Reading on from anywhere gives what follows, and with it the same branch.
        let all = block_on(store.read_since(&id, 0)).unwrap().unwrap();
        let mut way = path_to_leaf(&all);
        way.reverse();
        assert_eq!(way, model.branch());
        let middle = model.leaf / 2;
        let rest = block_on(store.read_since(&id, middle)).unwrap().unwrap();
        let newer: Vec<u32> = rest.entries.iter().map(|entry| entry.number).collect();
        let expected: Vec<u32> = model
            .entries
            .range(middle + 1..)
            .map(|one| *one.0)
            .collect();
        assert_eq!((rest.leaf, newer), (model.leaf, expected));
        let record = block_on(store.by_id(&id)).unwrap().unwrap();
        assert_eq!(record.leaf, model.leaf);
        assert_eq!(record.entries, model.entries.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn trees_agree_with_a_model(steps in steps()) {
        for make in &SESSION_STORES {
            let made = make();
            let store = made.store.as_ref();
            started(store, "s0", "agent:main:0");
            let mut models = vec![Model::default()];
            for step in &steps {
                follow(store, &mut models, step);
            }
            agree(store, &models);
        }
    }
}

/// The numbers that lead to the leaf, the newest first. Parents are always older.
fn path_to_leaf(tree: &SessionTree) -> Vec<u32> {
    let mut wanted = tree.leaf;
    let mut path = Vec::new();
    for entry in tree.entries.iter().rev() {
        if entry.number == wanted {
            path.push(entry.number);
            wanted = entry.parent;
        }
    }
    path
}
