//! What of `sandbox` says nothing to this kind of sandbox.
//!
//! The keys come from sandboxes that are containers. Each either does here what it says, or the
//! operator is told that it does not: nothing that looks like protection is passed over in
//! silence.

use chela_config::model::{OneOrMany, Sandbox, SandboxDocker};
use chela_core::sanitize::literal;

use super::SandboxBackend;
use super::bounds::bytes;
use super::bubblewrap::MemoryMount;
use super::cgroup::CgroupParent;

/// One line for each key that is set and does nothing on this machine.
pub fn without_effect(
    settings: &Sandbox,
    backend: &SandboxBackend,
    counting: &CgroupParent,
) -> Vec<String> {
    let (docker, usual) = (&settings.docker, SandboxDocker::default());
    let mut notes = keys_without_effect(settings);
    if !counting.limits_swap() && docker.memory_swap != usual.memory_swap {
        notes.push(
            "sandbox.docker.memorySwap has no effect: no cgroup that counts swap can be created \
             here; docker.memory applies"
                .to_owned(),
        );
    }
    if matches!(backend, SandboxBackend::Landlock { .. }) && docker.tmpfs != usual.tmpfs {
        notes.push(
            "sandbox.docker.tmpfs has no effect: only bubblewrap has in-memory file systems; \
             TMPDIR is a folder for such files"
                .to_owned(),
        );
    }
    notes
}

/// One line for each key that is set and does nothing on any machine.
pub fn keys_without_effect(settings: &Sandbox) -> Vec<String> {
    let docker = &settings.docker;
    let usual = SandboxDocker::default();
    let mut notes = Vec::new();
    let mut note = |is_set: bool, key: &str, why: &str| {
        if is_set {
            notes.push(format!("sandbox.{key} has no effect: {why}"));
        }
    };
    let no_container = "there is no container; the programs of this machine are used";
    note(docker.image.is_some(), "docker.image", no_container);
    note(
        docker.container_prefix.is_some(),
        "docker.containerPrefix",
        no_container,
    );
    note(
        docker.workdir.is_some(),
        "docker.workdir",
        "commands start in the workspace, or in the sandbox's own folder",
    );
    note(
        !docker.read_only_root,
        "docker.readOnlyRoot false",
        "the system can never be changed from inside",
    );
    note(
        docker.user != usual.user,
        "docker.user",
        "commands run as the user who runs Chela, without privileges",
    );
    note(
        !docker
            .cap_drop
            .iter()
            .any(|name| name.eq_ignore_ascii_case("all")),
        "docker.capDrop",
        "all capabilities are dropped",
    );
    note(
        docker.setup_command.as_ref().is_some_and(says_something),
        "docker.setupCommand",
        "it does not run, because the system cannot be changed from inside; install what \
         commands need on this machine",
    );
    note(
        docker.gpus.is_some(),
        "docker.gpus",
        "no GPU is available inside",
    );
    let filter = "the built-in system call filter applies";
    note(
        docker.seccomp_profile.is_some(),
        "docker.seccompProfile",
        filter,
    );
    note(
        docker.apparmor_profile.is_some(),
        "docker.apparmorProfile",
        filter,
    );
    let names = "names are resolved outside, by the proxy of sandbox.egress";
    note(!docker.dns.is_empty(), "docker.dns", names);
    note(!docker.extra_hosts.is_empty(), "docker.extraHosts", names);
    note(
        docker.dangerously_allow_reserved_container_targets,
        "docker.dangerouslyAllowReservedContainerTargets",
        "a folder keeps its path inside",
    );
    note(
        docker.dangerously_allow_container_namespace_join,
        "docker.dangerouslyAllowContainerNamespaceJoin",
        "there is no container to join",
    );
    note(
        !settings.ssh.is_empty(),
        "ssh",
        "sandboxes run on this machine",
    );
    note(
        !settings.browser.is_empty(),
        "browser",
        "no browser runs inside",
    );
    for name in docker.ulimits.keys() {
        if !["cpu", "nproc", "nofile", "fsize"].contains(&name.as_str()) {
            notes.push(format!(
                "sandbox.docker.ulimits.{} has no effect: only cpu, fsize, nofile and nproc are \
                    supported",
                literal(name)
            ));
        }
    }
    notes
}

fn says_something(command: &OneOrMany<String>) -> bool {
    let mut lines = command.as_slice().iter();
    lines.any(|line| !line.trim().is_empty())
}

/// `sandbox.docker.tmpfs`: `/path` or `/path:size=64m,…`.
pub fn scratch(settings: &SandboxDocker, notes: &mut Vec<String>) -> Vec<MemoryMount> {
    /// These are there anyway, and others rest on them.
    const TAKEN: &[&str] = &["/", "/dev", "/dev/shm", "/proc", "/run"];
    let mut all: Vec<MemoryMount> = Vec::new();
    for entry in &settings.tmpfs {
        let (path, options) = entry.split_once(':').unwrap_or((entry, ""));
        let path = match path.trim_end_matches('/') {
            "" => "/",
            path => path,
        };
        if path == "/run" || all.iter().any(|known| known.path == path) {
            continue;
        }
        let steps = path.starts_with('/') && !path.split('/').any(|step| step == "..");
        if !steps || TAKEN.contains(&path) {
            notes.push(format!(
                "sandbox.docker.tmpfs `{}` is ignored: use an absolute path, other than the \
                 folders every sandbox has",
                literal(entry)
            ));
            continue;
        }
        let size = options
            .split(',')
            .find_map(|option| option.strip_prefix("size="));
        all.push(MemoryMount {
            path: path.to_owned(),
            most: size.and_then(bytes),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use chela_config::model::{OneOrMany, Sandbox, SandboxDocker, ScalarValue};
    use serde_json::json;

    use super::{keys_without_effect, scratch, without_effect};
    use crate::bounds::{memory_and_swap, processor_percent};
    use crate::cgroup::CgroupParent;
    use crate::{SandboxBackend, SandboxNamespaces};

    #[test]
    fn nothing_is_said_of_what_nobody_set() {
        assert!(keys_without_effect(&Sandbox::default()).is_empty());
    }

    #[test]
    fn every_key_for_containers_is_named_when_it_is_set() {
        let settings = Sandbox {
            docker: SandboxDocker {
                image: Some("debian".to_owned()),
                container_prefix: Some("x".to_owned()),
                workdir: Some("/work".to_owned()),
                read_only_root: false,
                user: "0:0".to_owned(),
                cap_drop: Vec::new(),
                setup_command: Some(OneOrMany::One("apt install x".to_owned())),
                gpus: Some("all".to_owned()),
                seccomp_profile: Some("x.json".to_owned()),
                apparmor_profile: Some("x".to_owned()),
                dns: vec!["1.1.1.1".to_owned()],
                extra_hosts: vec!["a:1".to_owned()],
                dangerously_allow_reserved_container_targets: true,
                dangerously_allow_container_namespace_join: true,
                ulimits: [("stack".to_owned(), json!(1))].into(),
                ..SandboxDocker::default()
            },
            ssh: [("target".to_owned(), json!("x"))].into_iter().collect(),
            browser: [("enabled".to_owned(), json!(true))].into_iter().collect(),
            ..Sandbox::default()
        };
        let told = keys_without_effect(&settings);
        for key in [
            "image",
            "containerPrefix",
            "workdir",
            "readOnlyRoot",
            "user",
            "capDrop",
            "setupCommand",
            "gpus",
            "seccompProfile",
            "apparmorProfile",
            "dns",
            "extraHosts",
            "ReservedContainerTargets",
            "ContainerNamespaceJoin",
            "ulimits.stack",
            "ssh",
            "browser",
        ] {
            let lines = told.iter().filter(|line| line.contains(key)).count();
            assert_eq!(lines, 1, "{key}: {told:#?}");
        }
        assert_eq!(told.len(), 17, "{told:#?}");
    }

    #[test]
    fn what_only_some_machines_do_is_told_on_the_others() {
        let settings = Sandbox {
            docker: SandboxDocker {
                tmpfs: vec!["/scratch".to_owned()],
                memory_swap: ScalarValue("4g".into()),
                ..SandboxDocker::default()
            },
            ..Sandbox::default()
        };
        let bwrap = SandboxBackend::Bwrap {
            program: "/usr/bin/bwrap".into(),
        };
        let landlock = SandboxBackend::Landlock {
            version: 6,
            namespaces: SandboxNamespaces::Own,
        };
        let counted = CgroupParent::Together {
            parent: "/sys/fs/cgroup".into(),
        };
        let watched = CgroupParent::Watching { why: "x" };
        assert!(without_effect(&settings, &bwrap, &counted).is_empty());
        assert_eq!(without_effect(&settings, &bwrap, &watched).len(), 1);
        assert_eq!(without_effect(&settings, &landlock, &watched).len(), 2);
    }

    #[test]
    fn amounts_are_read_or_told() {
        let mut notes = Vec::new();
        let docker = |cpus: f64, tmpfs: &[&str]| SandboxDocker {
            cpus,
            tmpfs: tmpfs.iter().map(ToString::to_string).collect(),
            ..SandboxDocker::default()
        };
        assert_eq!(processor_percent(&docker(1.5, &[]), &mut notes), Some(150));
        assert_eq!(processor_percent(&docker(0.0, &[]), &mut notes), None);
        assert!(notes.is_empty());
        assert_eq!(processor_percent(&docker(-1.0, &[]), &mut notes), Some(100));
        let all = [
            "/tmp",
            "/tmp/",
            "/scratch:rw,size=64m",
            "/",
            "relative",
            "/a/../b",
            "/proc",
            "/run",
        ];
        let scratch = scratch(&docker(1.0, &all), &mut notes);
        let paths: Vec<&str> = scratch.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["/tmp", "/scratch"]);
        assert_eq!(scratch[1].most, Some(64 << 20));
        assert_eq!(notes.len(), 5, "{notes:?}");
        assert_eq!(memory_and_swap(&SandboxDocker::default(), 1 << 30), 2 << 30);
        assert_eq!(memory_and_swap(&SandboxDocker::default(), 4 << 30), 4 << 30);
    }
}
