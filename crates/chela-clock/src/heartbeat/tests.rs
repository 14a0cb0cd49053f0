use super::*;

const HOUR: u64 = 3_600_000;

fn settings() -> BeatSettings {
    BeatSettings {
        every: HOUR / 2,
        hours: None,
        hours_zone: None,
        has_own_prompt: false,
        most_a_day: 24,
    }
}

fn judge(text: Option<&str>, settings: &BeatSettings, state: &BeatState, now: u64) -> BeatVerdict {
    let list = text.map(HeartbeatChecklist::read);
    let facts = BeatFacts {
        now,
        zone: &LocalZone::utc(),
        settings,
        checklist: list.as_ref(),
        is_busy: false,
        state,
    };
    judge_beat(&facts, |task| task.condition.as_deref() != Some("false"))
}

const TASKS: &str = "# Heartbeat\n\ntasks:\n- name: mail\n  interval: 2h\n  prompt: \"Any mail?\"\n- name: disk\n  interval: 1d\n  if: false\n  prompt: Is it full?\n";

#[test]
fn what_asks_for_nothing_costs_nothing() {
    let (settings, state) = (settings(), BeatState::default());
    for (text, skip) in [
        (None, BeatSkip::NoFile),
        (Some("# Heartbeat\n\n- [ ]\n"), BeatSkip::EmptyFile),
        (Some("- [x] water the plants\n"), BeatSkip::ListDone),
    ] {
        let verdict = judge(text, &settings, &state, 10 * HOUR);
        assert_eq!(verdict, BeatVerdict::Skip(skip), "{text:?}");
    }
}

#[test]
fn text_is_asked_about_until_there_is_nothing_to_do_and_again_when_it_changes() {
    let settings = settings();
    let mut state = BeatState::default();
    let text = Some("- rain tomorrow?\n");
    let BeatVerdict::Ask(ask) = judge(text, &settings, &state, HOUR) else {
        panic!("it was never looked at")
    };
    state.begin(ask.clone(), "d".to_owned(), HOUR);
    assert_eq!(
        judge(text, &settings, &state, 2 * HOUR),
        BeatVerdict::Skip(BeatSkip::Awaited)
    );
    // An alert does not make it done.
    state.end(BeatAnswer::Alert);
    assert_eq!(
        judge(text, &settings, &state, 2 * HOUR),
        BeatVerdict::Ask(ask.clone())
    );
    state.begin(ask, "d".to_owned(), 2 * HOUR);
    state.end(BeatAnswer::AllClear);
    assert_eq!(
        judge(text, &settings, &state, 3 * HOUR),
        BeatVerdict::Skip(BeatSkip::Unchanged)
    );
    let other = Some("- rain tomorrow?\n- snow?\n");
    assert!(matches!(
        judge(other, &settings, &state, 3 * HOUR),
        BeatVerdict::Ask(_)
    ));
}

#[test]
fn tasks_are_due_by_their_interval_and_their_condition() {
    let settings = settings();
    let mut state = BeatState::default();
    let BeatVerdict::Ask(ask) = judge(Some(TASKS), &settings, &state, 10 * HOUR) else {
        panic!("a task is due")
    };
    assert_eq!(ask.tasks, ["mail"], "the condition of the other says no");
    assert_eq!(ask.text, None);
    state.begin(ask, "d".to_owned(), 10 * HOUR);
    // What failed is still due.
    let mut failed = state.clone();
    failed.end(BeatAnswer::Failed);
    assert!(matches!(
        judge(Some(TASKS), &settings, &failed, 11 * HOUR),
        BeatVerdict::Ask(_)
    ));
    state.end(BeatAnswer::AllClear);
    let verdict = judge(Some(TASKS), &settings, &state, 11 * HOUR);
    assert_eq!(verdict, BeatVerdict::Skip(BeatSkip::ConditionNotMet));
    let without = TASKS.replace("  if: false\n", "");
    state.tasks.insert("disk".to_owned(), 10 * HOUR);
    let verdict = judge(Some(&without), &settings, &state, 11 * HOUR);
    assert_eq!(verdict, BeatVerdict::Skip(BeatSkip::NoTaskDue));
    assert!(matches!(
        judge(Some(&without), &settings, &state, 12 * HOUR),
        BeatVerdict::Ask(_)
    ));
}

#[test]
fn hours_limits_and_work_under_way_come_first() {
    let mut state = BeatState::default();
    let text = Some("- look\n");
    let night = BeatSettings {
        hours: Some((22 * 60, 6 * 60)),
        ..settings()
    };
    for (hour, open) in [(23, true), (5, true), (6, false), (12, false), (22, true)] {
        let verdict = judge(text, &night, &state, hour * HOUR);
        assert_eq!(
            verdict != BeatVerdict::Skip(BeatSkip::OutsideHours),
            open,
            "{hour}"
        );
    }
    let never = BeatSettings {
        hours: Some((600, 600)),
        ..settings()
    };
    assert_eq!(
        judge(text, &never, &state, 10 * HOUR),
        BeatVerdict::Skip(BeatSkip::OutsideHours)
    );
    (state.day, state.calls) = ("1970-01-01".to_owned(), 24);
    assert_eq!(
        judge(text, &settings(), &state, HOUR),
        BeatVerdict::Skip(BeatSkip::DailyLimit)
    );
    assert!(matches!(
        judge(text, &settings(), &state, 25 * HOUR),
        BeatVerdict::Ask(_)
    ));
}

#[test]
fn a_standing_order_that_leads_to_nothing_is_given_less_often() {
    let settings = BeatSettings {
        has_own_prompt: true,
        ..settings()
    };
    let mut state = BeatState::default();
    let mut asked = Vec::new();
    for beat in 1..=40_u64 {
        let now = beat * HOUR / 2;
        if let BeatVerdict::Ask(ask) = judge(None, &settings, &state, now) {
            asked.push(beat);
            state.begin(ask, String::new(), now);
            state.end(BeatAnswer::AllClear);
        }
    }
    assert_eq!(asked, [1, 3, 7, 15, 23, 31, 39]);
    state.quiet = 0;
    assert!(matches!(
        judge(None, &settings, &state, 41 * HOUR / 2),
        BeatVerdict::Ask(_)
    ));
}

/// A month over a change of the clocks: asked as often as tasks come due, and not once where there
/// is nothing to ask.
#[test]
fn a_month_asks_as_often_as_something_is_due() {
    let settings = settings();
    let every_beat = |text: Option<&str>| -> usize {
        let mut state = BeatState::default();
        let zone = LocalZone::named("Europe/Berlin").unwrap();
        let start = 1_773_000_000_000_u64;
        let mut asked = 0;
        for beat in 1..=30 * 48_u64 {
            let now = start + beat * settings.every;
            let list = text.map(HeartbeatChecklist::read);
            let facts = BeatFacts {
                now,
                zone: &zone,
                settings: &settings,
                checklist: list.as_ref(),
                is_busy: false,
                state: &state,
            };
            if let BeatVerdict::Ask(ask) = judge_beat(&facts, |_| true) {
                asked += 1;
                state.begin(ask, zone.day(now), now);
                state.end(BeatAnswer::AllClear);
            }
        }
        asked
    };
    assert_eq!(every_beat(None), 0);
    assert_eq!(every_beat(Some("# Heartbeat\n")), 0);
    assert_eq!(every_beat(Some("- rain?\n")), 1);
    let task = "tasks:\n- name: rain\n  interval: 12h\n  prompt: Rain?\n";
    assert_eq!(every_beat(Some(task)), 60);
}
