use chela_config::load_text;
use chela_core::{Host, SessionKey};

use super::ResetRules;

fn rules(config: &str, key: &str, channel: Option<&str>) -> (Option<u8>, Option<u64>) {
    let loaded = load_text(&Host::fixed("/home/me"), config);
    let rules = ResetRules::of(&loaded, &SessionKey::parse(key).unwrap(), channel, 0);
    (rules.daily.map(|daily| daily.at_hour), rules.idle_minutes)
}

#[test]
fn the_nearest_rule_counts() {
    let main = "agent:main:main";
    assert_eq!(rules("{}", main, None), (None, None));
    let daily = "{session: {reset: {mode: 'daily', atHour: 5}}}";
    assert_eq!(rules(daily, main, None), (Some(5), None));
    assert_eq!(rules(daily, "agent:main:subagent:x", None), (None, None));
    assert_eq!(rules(daily, "cron:job", None), (None, None));
    let both = "{session: {reset: {mode: 'daily', idleMinutes: 30}}}";
    assert_eq!(rules(both, main, None), (Some(4), Some(30)));
    assert_eq!(
        rules("{session: {reset: {mode: 'idle'}}}", main, None),
        (None, Some(60))
    );
    assert_eq!(
        rules("{session: {idleMinutes: 7}}", main, None),
        (None, Some(7))
    );

    let by_type = "{session: {reset: {mode: 'daily'}, resetByType: {group: {mode: 'idle', idleMinutes: 9}, thread: {mode: 'none'}}, resetByChannel: {telegram: {mode: 'idle', idleMinutes: 3}}}}";
    assert_eq!(
        rules(by_type, "agent:main:discord:group:1", None),
        (None, Some(9))
    );
    assert_eq!(
        rules(by_type, "agent:main:discord:group:1:thread:2", None),
        (None, None)
    );
    assert_eq!(rules(by_type, main, None), (Some(4), None));
    assert_eq!(rules(by_type, main, Some("Telegram")), (None, Some(3)));
    assert_eq!(
        rules(by_type, "agent:main:telegram:group:1", None),
        (None, Some(3))
    );
}

#[test]
fn whichever_expires_first_wins() {
    let rules = ResetRules {
        daily: Some(super::DailyReset {
            at_hour: 4,
            utc_offset_minutes: 0,
        }),
        idle_minutes: Some(60),
    };
    let day = 86_400_000;
    let four = 4 * 3_600_000;
    let due =
        |started, interacted, now| rules.due(started, interacted, now).map(|why| why.as_str());
    assert_eq!(due(day, day, day + 60 * 60_000), None);
    assert_eq!(due(day, day, day + 61 * 60_000), Some("idle"));
    assert_eq!(due(day, day + four, day + four), Some("daily"));
    assert_eq!(due(day + four, day + four, day + four), None);
}
