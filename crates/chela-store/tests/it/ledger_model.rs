//! Whatever is done to chains and calls, a store and a simple model agree.

use std::collections::BTreeMap;

use chela_store::{
    CallState, ChainId, EntryQuery, LedgerStore, LedgerTransaction, LimitSpan, NewCall,
    SpentAmount, SpentQuery, StoreError, WriteDurability, block_on,
};
use proptest::prelude::*;

use crate::LEDGER_STORES;
use crate::ledger_suite::{append, write};

/// What may happen. Calls are taken modulo how many there were.
#[derive(Debug, Clone)]
enum Step {
    Append { chain: usize, entries: usize },
    AppendAndFail { chain: usize },
    Call { tokens: u64, known: u64 },
    Settle { call: usize, tokens: u64 },
    Release { call: usize },
    GiveUp { call: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0_usize..3, 1_usize..4).prop_map(|(chain, entries)| Step::Append { chain, entries }),
        (0_usize..3).prop_map(|chain| Step::AppendAndFail { chain }),
        (0_u64..100, 0_u64..3).prop_map(|(tokens, known)| Step::Call { tokens, known }),
        (0_usize..5, 0_u64..100).prop_map(|(call, tokens)| Step::Settle { call, tokens }),
        (0_usize..5).prop_map(|call| Step::Release { call }),
        (0_usize..5).prop_map(|call| Step::GiveUp { call }),
    ];
    prop::collection::vec(step, 1..40)
}

#[derive(Debug, Default)]
struct Model {
    entries: [u64; 3],
    /// By number: what counts, what counts when it is given up, and whether it is under way.
    calls: BTreeMap<i64, (u64, u64, bool)>,
    settled: Vec<i64>,
    numbers: Vec<i64>,
}

fn chains() -> [ChainId; 3] {
    [
        ChainId::default(),
        ChainId::named("node-2").unwrap(),
        ChainId::named("node-3").unwrap(),
    ]
}

fn amount(tokens: u64) -> SpentAmount {
    SpentAmount {
        tokens,
        micro_dollars: 0,
    }
}

fn take(store: &dyn LedgerStore, model: &mut Model, step: &Step) {
    let number = |model: &Model, call: usize| {
        let count = model.numbers.len();
        (count > 0).then(|| model.numbers[call % count])
    };
    match *step {
        Step::Append { chain, entries } => {
            let id = chains()[chain].clone();
            write(store, move |tx| {
                (0..entries).try_for_each(|_| append(tx, &id, "x").map(drop))
            });
            model.entries[chain] += entries as u64;
        }
        Step::AppendAndFail { chain } => {
            let id = chains()[chain].clone();
            let failed: Result<(), StoreError> = block_on(store.write(
                WriteDurability::Process,
                move |tx: &mut dyn LedgerTransaction| {
                    append(tx, &id, "lost")?;
                    Err(StoreError::Unanswered)
                },
            ));
            assert!(failed.is_err());
        }
        Step::Call { tokens, known } => {
            let added = write(store, move |tx| {
                tx.add_call(&NewCall {
                    number: None,
                    at: 1,
                    agent: "main",
                    session: "s",
                    turn: "t",
                    job: "chat",
                    day: "d",
                    month: "m",
                    model: "a/x",
                    estimate: amount(tokens),
                    known: amount(known),
                    owner: "boot",
                    process: 1,
                    expires: 9,
                })
            });
            model.calls.insert(added, (tokens, known, true));
            model.numbers.push(added);
        }
        Step::Settle { call, tokens } => {
            let Some(number) = number(model, call) else {
                return;
            };
            let state = write(store, move |tx| tx.settle_call(number, amount(tokens)));
            let expected = match model.calls.get_mut(&number) {
                Some(call) => {
                    if !model.settled.contains(&number) {
                        *call = (tokens, call.1, false);
                        model.settled.push(number);
                    }
                    CallState::Known
                }
                None => CallState::Unknown,
            };
            assert_eq!(state, expected);
        }
        Step::Release { call } => {
            let Some(number) = number(model, call) else {
                return;
            };
            write(store, move |tx| tx.release_call(number));
            if model.calls.get(&number).is_some_and(|call| call.2) {
                model.calls.remove(&number);
            }
        }
        Step::GiveUp { call } => {
            // Only open ones are given up.
            let open = number(model, call)
                .filter(|number| model.calls.get(number).is_some_and(|call| call.2));
            let Some(number) = open else { return };
            write(store, move |tx| tx.give_up_call(number));
            match model.calls[&number].1 {
                0 => drop(model.calls.remove(&number)),
                known => drop(model.calls.insert(number, (known, known, false))),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_store_does_what_the_model_does(steps in steps()) {
        for make in &LEDGER_STORES {
            let made = make();
            let store = &*made.store;
            let mut model = Model::default();
            for step in &steps {
                take(store, &mut model, step);
            }
            for (chain, expected) in chains().into_iter().zip(model.entries) {
                let query = EntryQuery { chain, ..EntryQuery::default() };
                let found = block_on(store.entries(query)).unwrap();
                prop_assert_eq!(found.len() as u64, expected);
                let is_bound = |pair: &[chela_store::AuditEntry]| {
                    pair[1].prev == pair[0].hash && pair[1].seq == pair[0].seq + 1
                };
                prop_assert!(found.windows(2).all(is_bound));
            }
            let (open, spent) = write(store, |tx| {
                let query = SpentQuery { span: LimitSpan::Day("d"), agent: None, job: None };
                Ok((tx.open_calls()?, tx.spent(&query)?.tokens))
            });
            let counted: u64 = model.calls.values().map(|call| call.0).sum();
            prop_assert_eq!(spent, counted);
            prop_assert_eq!(open.len(), model.calls.values().filter(|call| call.2).count());
        }
    }
}
