//! `sandbox`: where commands and file tools run.

use std::collections::BTreeMap;

use super::*;

section! {
    /// Where commands and file tools run.
    struct Sandbox {
        /// Which sessions are sandboxed: none, all but the main one, or all.
        mode: SandboxMode,
        /// What shares one sandbox.
        scope: SandboxScope,
        /// What builds the sandbox: `bwrap` or `landlock`; left out, what works on this machine. The
        /// names of container systems are read, and commands are refused.
        backend: Option<String>,
        /// How the workspace is seen inside.
        workspace_access: WorkspaceAccess,
        /// Folder for sandboxes.
        workspace_root: Option<String>,
        /// Which sessions a sandboxed agent sees.
        session_tools_visibility: SandboxSessions,
        /// Hosts that may be reached from inside, through the proxy.
        egress: Vec<String>,
        /// Container settings.
        docker: SandboxDocker,
        /// Remote machine settings.
        ssh: ForeignSettings,
        /// Browser inside the sandbox.
        browser: ForeignSettings,
        /// Removal of old sandboxes.
        prune: SandboxPrune,
    }

    /// Container settings.
    struct SandboxDocker {
        /// Image.
        image: Option<String>,
        /// Start of container names.
        container_prefix: Option<String>,
        /// Folder commands start in.
        workdir: Option<String>,
        /// The root file system cannot be written.
        read_only_root: bool = true,
        /// Writable file systems in memory, under bubblewrap.
        tmpfs: Vec<String> = ["/tmp", "/var/tmp", "/run"].map(String::from).to_vec(),
        /// Network: `none`, `bridge` or a network name.
        network: String = "none".into(),
        /// User and group inside.
        user: String = "1000:1000".into(),
        /// Capabilities dropped.
        cap_drop: Vec<String> = vec!["ALL".into()],
        /// Variables inside.
        env: ScalarMap,
        /// Command run once in a new container.
        setup_command: Option<OneOrMany<String>>,
        /// Maximum processes.
        [min 1]
        pids_limit: u32 = 256,
        /// Memory, for example `1g`.
        memory: ScalarValue = ScalarValue("1g".into()),
        /// Memory and swap together.
        memory_swap: ScalarValue = ScalarValue("2g".into()),
        /// Processors; 0 for all.
        cpus: f64 = 1.0,
        /// GPUs.
        gpus: Option<String>,
        /// Limits by name.
        ulimits: BTreeMap<String, serde_json::Value>,
        /// Seccomp profile.
        seccomp_profile: Option<String>,
        /// AppArmor profile.
        apparmor_profile: Option<String>,
        /// Name servers.
        dns: Vec<String>,
        /// Extra host names.
        extra_hosts: Vec<String>,
        /// Folders mounted, `host:container[:ro]`.
        binds: Vec<String>,
        /// Allow mounts over paths the sandbox needs.
        dangerously_allow_reserved_container_targets: bool,
        /// Allow mounts from outside the workspace.
        dangerously_allow_external_bind_sources: bool,
        /// Allow joining the network of another container.
        dangerously_allow_container_namespace_join: bool,
    }

    /// Removal of old sandboxes.
    struct SandboxPrune {
        /// After this many idle hours; 0 for never.
        idle_hours: u64 = 24,
        /// After this many days; 0 for never.
        max_age_days: u64 = 7,
    }
}

words! {
    /// Which sessions are sandboxed.
    enum SandboxMode { Off = "off", NonMain = "non-main", All = "all" }
    /// What shares one sandbox.
    enum SandboxScope { Agent = "agent", Session = "session", Shared = "shared" }
    /// How the workspace is seen inside a sandbox.
    enum WorkspaceAccess { None = "none", Ro = "ro", Rw = "rw" }
    /// Which sessions a sandboxed agent sees.
    enum SandboxSessions { Spawned = "spawned", All = "all" }
}
