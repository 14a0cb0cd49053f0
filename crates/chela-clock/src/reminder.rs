//! What an agent reads when a job is due: that it is one, since when, and in what it was made.

use chela_core::Trust;

use crate::job::{JobMaker, JobPayload, JobSpec};
use crate::{LocalZone, UnixMillis, duration_in_words, moment_in_words};

const HEAD: &str = include_str!("../text/reminder.md");
const ONCE: &str = include_str!("../text/reminder-once.md");
const FOREIGN: &str = include_str!("../text/reminder-foreign.md");

/// So late it is worth a word.
const LATE: u64 = 120_000;

/// What a due job says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReminderText {
    /// The runtime's words, and the job's where somebody answers for them.
    pub told: String,
    /// The job's words where nobody does.
    pub foreign: Option<String>,
}

/// The text of a job that is due.
pub fn reminder_text(
    spec: &JobSpec,
    planned: UnixMillis,
    now: UnixMillis,
    zone: &LocalZone,
) -> ReminderText {
    let late = now.saturating_sub(planned);
    let kind = match (&spec.payload, spec.schedule.is_once()) {
        (JobPayload::Event { .. }, _) => "Event",
        (JobPayload::Message { .. }, true) => "Reminder",
        (JobPayload::Message { .. }, false) => "Scheduled job",
    };
    let head = HEAD
        .trim()
        .replace("{{kind}}", kind)
        .replace("{{name}}", &spec.name)
        .replace("{{made}}", &made_in_words(spec, zone))
        .replace("{{planned}}", &moment_in_words(planned, zone))
        .replace("{{now}}", &moment_in_words(now, zone))
        .replace(
            "{{late}}",
            &match late >= LATE {
                true => format!(", {} late", duration_in_words(late)),
                false => String::new(),
            },
        );
    let is_reminder = kind == "Reminder";
    let lead = is_reminder.then(|| ONCE.trim());
    let body = body_of(spec);
    if spec.made.trust < Trust::Agent {
        let told = [Some(head.as_str()), Some(FOREIGN.trim())];
        return ReminderText {
            told: joined(told),
            foreign: Some(body),
        };
    }
    ReminderText {
        told: joined([Some(head.as_str()), lead, Some(&body)]),
        foreign: None,
    }
}

fn joined<'a>(parts: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join("\n\n")
}

fn made_in_words(spec: &JobSpec, zone: &LocalZone) -> String {
    let by = match spec.made.by {
        JobMaker::Owner if spec.has_owners_words() => "by the owner",
        JobMaker::Owner => "by the owner, its words changed by you,",
        JobMaker::Agent => "by you",
    };
    let at = moment_in_words(spec.made.at, zone);
    match &spec.made.session {
        Some(session) => format!("{at} {by} in {session}"),
        None => format!("{at} {by}"),
    }
}

/// The words of the job, and what was said before it was made.
fn body_of(spec: &JobSpec) -> String {
    let text = spec.payload.text().trim().to_owned();
    if spec.made.context.is_empty() {
        return text;
    }
    let lines = spec.made.context.iter();
    let lines: Vec<String> = lines
        .map(|line| format!("- {}: {}", line.who, line.text))
        .collect();
    format!("{text}\n\nSaid before it was set:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use chela_core::{AgentId, SessionKey};

    use super::*;
    use crate::JobSchedule;
    use crate::job::{ContextLine, JobOrigin, MissedPolicy, SessionTarget};

    fn spec(trust: Trust) -> JobSpec {
        let agent = AgentId::normalize("main");
        JobSpec {
            name: "dentist".to_owned(),
            schedule: JobSchedule::At {
                at: 1_773_039_600_000,
            },
            session: SessionTarget::Main,
            payload: JobPayload::Message {
                text: "Dentist at nine.".to_owned(),
            },
            model: None,
            timeout_seconds: None,
            missed: MissedPolicy::Once,
            grace: 0,
            retries: None,
            delivery: None,
            made: JobOrigin {
                by: JobMaker::Agent,
                at: 1_772_953_200_000,
                session: Some(SessionKey::main(&agent)),
                trust,
                context: vec![ContextLine {
                    who: "owner".to_owned(),
                    text: "remind me of the dentist tomorrow".to_owned(),
                }],
            },
            agent,
        }
    }

    fn told(trust: Trust, now: u64) -> ReminderText {
        let zone = LocalZone::named("Europe/Berlin").unwrap();
        reminder_text(&spec(trust), 1_773_039_600_000, now, &zone)
    }

    #[test]
    fn a_reminder_reads_like_one() {
        let text = told(Trust::Agent, 1_773_039_600_900);
        assert_eq!(text.foreign, None);
        assert_eq!(
            text.told,
            "[Reminder `dentist`]\n\
             Set Sun 8 March 2026, 08:00 (Europe/Berlin) by you in agent:main:main. Planned for \
             Mon 9 March 2026, 08:00 (Europe/Berlin); it is now Mon 9 March 2026, 08:00 \
             (Europe/Berlin).\n\n\
             This is a reminder that has come due. Tell whoever asked for it now, as the reminder \
             it is.\n\nDentist at nine.\n\nSaid before it was set:\n\
             - owner: remind me of the dentist tomorrow"
        );
        let late = told(Trust::Agent, 1_773_039_600_000 + 5_400_000);
        assert!(
            late.told.contains(", 1 hour 30 minutes late."),
            "{}",
            late.told
        );
    }

    #[test]
    fn what_was_made_after_foreign_text_stays_foreign() {
        let text = told(Trust::External, 1_773_039_600_000);
        assert!(!text.told.contains("Dentist at nine"), "{}", text.told);
        let foreign = text.foreign.unwrap();
        assert!(foreign.contains("Dentist at nine") && foreign.contains("remind me"));
    }
}
