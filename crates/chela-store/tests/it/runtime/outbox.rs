//! What an outbox has to do.

use chela_store::{
    ClaimState, DeliveryEnd, DeliveryQuery, DeliveryState, NewDelivery, OutboxStore,
    SqliteRuntimeStore, WaitHere as _, block_on,
};

use super::inbox::{ask, message, outcome};
use super::with_each_pair;

fn delivery(id: &str, at: u64) -> NewDelivery {
    NewDelivery {
        id: id.to_owned(),
        body: format!("{id} to somewhere"),
        at,
        expires: at + 1_000,
    }
}

fn due(store: &dyn OutboxStore, now: u64) -> Vec<String> {
    let found = block_on(store.due_deliveries(now, 10)).unwrap();
    found.into_iter().map(|record| record.id).collect()
}

fn end(state: DeliveryState) -> DeliveryEnd {
    DeliveryEnd {
        state,
        why: "told".to_owned(),
        at: 500,
    }
}

#[test]
fn an_outcome_and_its_deliveries_are_written_together_or_not_at_all() {
    with_each_pair(|pair| {
        let (one, two) = (&pair.one, &pair.two);
        block_on(one.inbox.accept(message("m", "lane", 10))).unwrap();
        let old = block_on(one.inbox.claim(ask("a", 20, 10)))
            .unwrap()
            .unwrap();
        let new = block_on(two.inbox.claim(ask("b", 40, 10)))
            .unwrap()
            .unwrap();
        let finish = |claim, sent: &str| {
            let sent = vec![delivery(sent, 50)];
            let ended = one.outbox.finish_and_send(claim, outcome("x", 50), sent);
            let ended = block_on(ended).unwrap();
            (ended.claim, ended.more)
        };
        // Whoever lost the work sends nothing of it.
        assert_eq!(finish(&old.claim, "late"), (ClaimState::Lost, false));
        block_on(one.inbox.accept(message("behind", "lane", 60))).unwrap();
        assert_eq!(due(two.outbox.as_ref(), 50), [""; 0]);
        assert_eq!(finish(&new.claim, "right"), (ClaimState::Held, true));
        assert_eq!(due(two.outbox.as_ref(), 50), ["right"]);
        assert_eq!(finish(&new.claim, "again").0, ClaimState::Lost);
        assert_eq!(due(two.outbox.as_ref(), 50), ["right"]);
    });
}

#[test]
fn a_delivery_is_tried_until_it_is_over_and_once_more_when_asked() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.outbox.as_ref(), pair.two.outbox.as_ref());
        for (id, at) in [("b", 10), ("a", 20), ("c", 90)] {
            assert!(block_on(one.send(delivery(id, at))).unwrap());
        }
        assert!(
            !block_on(two.send(delivery("a", 5))).unwrap(),
            "the same is one"
        );
        assert_eq!(due(two, 50), ["b", "a"]);
        assert!(block_on(two.note_try("b", "nobody answers", 300)).unwrap());
        assert_eq!(due(one, 299), ["a", "c"]);
        assert_eq!(block_on(one.next_delivery()).unwrap(), Some(20));
        assert!(block_on(one.end_delivery("a", end(DeliveryState::Delivered))).unwrap());
        assert!(!block_on(two.end_delivery("a", end(DeliveryState::Failed))).unwrap());
        // What has arrived is not sent once more, whoever asks.
        assert!(!block_on(two.retry_delivery("a", 600, 700)).unwrap());
        assert!(block_on(two.end_delivery("b", end(DeliveryState::Failed))).unwrap());
        assert_eq!(due(one, 1_000), ["c"]);
        assert!(block_on(one.retry_delivery("b", 600, 5_000)).unwrap());
        let again = block_on(two.delivery("b")).unwrap().unwrap();
        assert_eq!((again.due, again.expires, again.tries), (600, 5_000, 0));
        assert_eq!((again.state, again.ended), (DeliveryState::Waiting, None));
        assert_eq!(due(one, 1_000), ["b", "c"]);
        let delivered = DeliveryQuery {
            state: Some(DeliveryState::Delivered),
            limit: 10,
        };
        let delivered = block_on(two.deliveries(delivered)).unwrap();
        assert_eq!((delivered.len(), delivered[0].why.as_str()), (1, "told"));
        assert_eq!(block_on(one.forget_deliveries(501)).unwrap(), 1);
        assert_eq!(block_on(two.delivery("a")).unwrap(), None);
    });
}

#[test]
fn what_was_finished_before_a_message_is_found_in_its_lane() {
    with_each_pair(|pair| {
        let inbox = pair.one.inbox.as_ref();
        for (id, lane) in [("a", "l"), ("x", "other"), ("b", "l"), ("c", "l")] {
            block_on(inbox.accept(message(id, lane, 10))).unwrap();
        }
        for _ in 0..3 {
            let claimed = block_on(inbox.claim(ask("w", 20, 10))).unwrap().unwrap();
            block_on(inbox.finish(&claimed.claim, outcome("done", 30))).unwrap();
        }
        let before = block_on(pair.two.inbox.finished_before("c", 10)).unwrap();
        let before: Vec<&str> = before.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(before, ["b", "a"]);
        assert!(block_on(inbox.finished_before("a", 10)).unwrap().is_empty());
    });
}

#[test]
fn what_is_to_be_delivered_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.sqlite");
    let store = SqliteRuntimeStore::open(&path).unwrap();
    store.send(delivery("d", 10)).wait().unwrap();
    drop(store);
    let store = SqliteRuntimeStore::open(&path).unwrap();
    assert_eq!(due(&store, 10), ["d"]);
}
