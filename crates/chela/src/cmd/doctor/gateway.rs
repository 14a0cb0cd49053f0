//! The gateway: whether it answers, whether something waits for it, who can read its token.

use std::path::Path;

use chela_config::model::{GatewayBind, OtelProtocol};
use chela_core::{Host, Severity};
use chela_files::FileFacts as _;
use chela_gateway::{
    RunningGateway, ServerCertificate, ServiceManager, ServiceUnit, config_stamp, token_file,
};

use super::DoctorFinding;
use super::fix::DoctorFix;
use crate::cmd::time::utc;
use crate::cmd::{CommandSetup, gateway};
use crate::screen::count_noun;

const CHECK: &str = "gateway";
/// So many seconds before its end a certificate is spoken of.
const EXPIRES_SOON: u64 = 14 * 24 * 3_600;

pub fn gateway_findings(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let host = &setup.host;
    let mut findings = Vec::new();
    match RunningGateway::find(host) {
        Some(running) if !gateway::is_well(&running) => findings.push(
            DoctorFinding::new(
                CHECK,
                Severity::Error,
                format!(
                    "the gateway (process {}, port {}) does not answer",
                    running.pid, running.port
                ),
            )
            .hint("`chela gateway logs` says what it does; `chela gateway stop` ends it"),
        ),
        Some(running) => findings.extend(config_findings(setup, &running)),
        None => {
            findings.extend(unit_finding(host));
            if let Some(pid) = RunningGateway::left_behind(host) {
                let told = format!("the last gateway (process {pid}) was killed or crashed");
                findings.push(DoctorFinding::new(CHECK, Severity::Note, told).hint(
                    "the next one continues with what it left; `chela logs` shows what led to it",
                ));
            }
            let (waiting, working) = gateway::inbox_counts(host);
            if waiting + working > 0 {
                let waiting = count_noun(waiting + working, "message");
                let told = format!("{waiting} without an answer, and the gateway does not run");
                findings.push(
                    DoctorFinding::new(CHECK, Severity::Warning, told)
                        .hint("`chela gateway run` answers what waits"),
                );
            }
        }
    }
    let token = token_file(host);
    if let Ok(meta) = std::fs::metadata(&token)
        && meta.permission_bits() & 0o077 != 0
    {
        let told = format!("others on this machine can read {}", host.compact(&token));
        findings.push(
            DoctorFinding::new(CHECK, Severity::Error, told)
                .hint("`chela gateway token rotate` makes a new one, for you alone")
                .remedy(DoctorFix::Chmod {
                    path: token,
                    mode: 0o600,
                }),
        );
    }
    findings.extend(tls_findings(setup));
    findings.extend(telemetry_finding(setup));
    findings
}

/// Whether it can encrypt where the config says so, and for how long.
fn tls_findings(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let (host, gateway) = (&setup.host, &setup.loaded.config.gateway);
    let finding = |severity, told: String| DoctorFinding::new(CHECK, severity, told);
    let certificate = match ServerCertificate::of(host, &setup.loaded) {
        Ok(Some(certificate)) => certificate,
        Ok(None) => {
            let is_far = !matches!(gateway.bind, GatewayBind::Loopback | GatewayBind::Auto);
            let told = "the gateway listens beyond this machine, and does not encrypt";
            return match (is_far, gateway.tls.behind_proxy) {
                (false, _) => Vec::new(),
                (true, true) => vec![
                    finding(Severity::Note, told.to_owned())
                        .hint("keep its port closed to everyone but what encrypts in front of it"),
                ],
                (true, false) => vec![
                    finding(Severity::Error, format!("{told}: it will not start"))
                        .hint("set gateway.tls.certPath and keyPath, or gateway.bind to loopback"),
                ],
            };
        }
        Err(error) => {
            let told = format!("the gateway cannot encrypt: {error}");
            return vec![
                finding(Severity::Error, told)
                    .hint("fix gateway.tls; until then the gateway does not start"),
            ];
        }
    };
    let mut findings = Vec::new();
    let [file, key] = certificate.files();
    let (now, shown) = (host.unix_time(), host.compact(&file));
    let left = certificate
        .valid_until()
        .map(|end| (end, end.saturating_sub(now)));
    if let Some((end, left)) = left.filter(|(_, left)| *left < EXPIRES_SOON) {
        let (severity, told) = match left {
            0 => (Severity::Error, "has expired"),
            _ => (Severity::Warning, "expires soon"),
        };
        let told = format!(
            "the certificate of the gateway {told}: {shown}, {}",
            utc(end)
        );
        findings.push(
            finding(severity, told)
                .hint("put a new one there; a running gateway uses it within seconds"),
        );
    }
    if let Ok(meta) = std::fs::metadata(&key)
        && meta.permission_bits() & 0o007 != 0
    {
        let told = format!("everyone on this machine can read {}", host.compact(&key));
        findings.push(
            finding(Severity::Error, told)
                .hint("get a new certificate with a new key, readable by you alone")
                .remedy(DoctorFix::Chmod {
                    path: key,
                    mode: 0o600,
                }),
        );
    }
    findings
}

/// Whether it works with the config as it is in the files.
fn config_findings(setup: &CommandSetup, running: &RunningGateway) -> Vec<DoctorFinding> {
    let config = &running.config;
    let mut findings = Vec::new();
    if !config.problems.is_empty() {
        let told = format!(
            "the gateway works with the config as it was: {}",
            config.problems.join("; ")
        );
        findings.push(
            DoctorFinding::new(CHECK, Severity::Error, told)
                .hint("fix the file; `chela config validate` shows what is wrong"),
        );
    } else if config.stamp != Some(config_stamp(&setup.loaded)) {
        findings.push(
            DoctorFinding::new(
                CHECK,
                Severity::Warning,
                "the config is newer than the one the gateway works with",
            )
            .hint(
                "`chela gateway restart` reads it; gateway.reload.mode says when it does by itself",
            ),
        );
    }
    if !config.needs_restart.is_empty() {
        let keys = config.needs_restart.join(", ");
        let told = format!("these settings apply after a restart of the gateway: {keys}");
        findings
            .push(DoctorFinding::new(CHECK, Severity::Note, told).hint("chela gateway restart"));
    }
    findings
}

/// A service that is installed, and no gateway.
fn unit_finding(host: &Host) -> Option<DoctorFinding> {
    let managers = [ServiceManager::Systemd, ServiceManager::Launchd];
    let units = managers.map(|manager| ServiceUnit::of(host, manager, Path::new("chela")));
    let unit = units.into_iter().find(|unit| unit.file.exists())?;
    let look = match unit.manager {
        ServiceManager::Systemd => format!("systemctl --user status {}", unit.name),
        ServiceManager::Launchd => format!("launchctl list {}", unit.name),
    };
    let told = format!(
        "the gateway is installed as a service ({}) and does not run",
        unit.name
    );
    Some(
        DoctorFinding::new(CHECK, Severity::Warning, told).hint(format!(
            "`{look}` says why; `chela gateway logs` shows what it did"
        )),
    )
}

/// Telemetry that is switched on and cannot be sent.
fn telemetry_finding(setup: &CommandSetup) -> Option<DoctorFinding> {
    let otel = &setup.loaded.config.diagnostics.otel;
    if !otel.enabled {
        return None;
    }
    let has_place = otel.endpoint.is_some()
        || (otel.traces_endpoint.is_some() && otel.metrics_endpoint.is_some());
    let (told, hint) = match (otel.protocol, has_place) {
        (OtelProtocol::HttpJson, true) => return None,
        (OtelProtocol::HttpJson, false) => (
            "telemetry is on but has no collector: nothing is sent",
            "set diagnostics.otel.endpoint, such as http://127.0.0.1:4318",
        ),
        _ => (
            "telemetry is not sent: its protocol is not offered",
            "`chela config set diagnostics.otel.protocol http/json`; collectors take it on the same port",
        ),
    };
    Some(DoctorFinding::new(CHECK, Severity::Warning, told).hint(hint))
}
