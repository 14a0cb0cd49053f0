use std::path::{Path, PathBuf};

use super::{Cgroup, CgroupParent};
use crate::CommandBounds;

/// A machine as far as its tables say, in a folder.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new(own: &str, mounts: &str) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.write("proc/self/cgroup", own);
        machine.write("proc/self/mountinfo", mounts);
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn find(&self) -> CgroupParent {
        CgroupParent::find(self.0.path())
    }
}

const MOUNT_V2: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

fn bounds() -> CommandBounds {
    CommandBounds {
        processes: 40,
        memory: 64 << 20,
        memory_and_swap: 96 << 20,
        processor_percent: Some(150),
        open_files: 10,
        cpu_seconds: 1,
        file_bytes: 1,
    }
}

fn read(group: &Cgroup, part: usize, file: &str) -> String {
    std::fs::read_to_string(group.parts[part].join(file)).unwrap()
}

/// Files of a made-up group are no files of the kernel: they stand in the way of removing it.
fn clear(group: &Cgroup) {
    for part in &group.parts {
        let _ = std::fs::remove_dir_all(part);
    }
}

#[test]
fn version_2_makes_groups_where_children_are_counted() {
    let own = "0::/user.slice/app.slice/chela.scope\n";
    let machine = Machine::new(own, MOUNT_V2);
    let slice = "sys/fs/cgroup/user.slice/app.slice";
    // The group of this program has processes, so it can have no children that count.
    machine.write(&format!("{slice}/chela.scope/cgroup.subtree_control"), "");
    machine.write(
        &format!("{slice}/cgroup.subtree_control"),
        "cpu memory pids",
    );
    machine.write(&format!("{slice}/cgroup.procs"), "");
    let counting = machine.find();
    assert_eq!(
        counting,
        CgroupParent::Together {
            parent: machine.path(slice)
        }
    );
    assert!(counting.limits_processors() && counting.limits_swap());
    let group = counting.group(&bounds()).unwrap().unwrap();
    assert_eq!(group.parts[0].parent(), Some(machine.path(slice).as_path()));
    assert_eq!(read(&group, 0, "pids.max"), "44");
    assert_eq!(read(&group, 0, "memory.max"), (80 << 20).to_string());
    assert_eq!(read(&group, 0, "memory.swap.max"), (32 << 20).to_string());
    assert_eq!(read(&group, 0, "cpu.max"), "150000 100000");
    assert!(!group.ran_out_of_memory());
    std::fs::write(group.parts[0].join("memory.events"), "oom 1\noom_kill 2\n").unwrap();
    assert!(group.ran_out_of_memory());
    clear(&group);
}

#[test]
fn where_nothing_is_counted_or_may_be_made_it_is_watched() {
    let machine = Machine::new("0::/session.scope\n", MOUNT_V2);
    machine.write("sys/fs/cgroup/session.scope/cgroup.subtree_control", "");
    machine.write("sys/fs/cgroup/cgroup.subtree_control", "cpu io");
    machine.write("sys/fs/cgroup/cgroup.procs", "");
    let watching = machine.find();
    assert!(
        matches!(watching, CgroupParent::Watching { .. }),
        "{watching:?}"
    );
    assert!(watching.group(&bounds()).unwrap().is_none());
    assert!(watching.to_string().contains("ten times a second"));
    // No `cgroup.procs` that may be written.
    machine.write("sys/fs/cgroup/cgroup.subtree_control", "memory pids");
    std::fs::remove_file(machine.path("sys/fs/cgroup/cgroup.procs")).unwrap();
    assert!(matches!(machine.find(), CgroupParent::Watching { .. }));
    assert!(matches!(
        CgroupParent::find(Path::new("/nowhere")),
        CgroupParent::Watching { .. }
    ));
}

#[test]
fn version_1_makes_a_group_in_each_tree() {
    let own = "8:pids:/\n4:memory:/jobs/7\n1:cpu,cpuacct:/\n0::/\n";
    let mounts = "\
40 30 0:1 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
41 30 0:2 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
42 30 0:3 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
43 30 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    let machine = Machine::new(own, mounts);
    machine.write("sys/fs/cgroup/unified/cgroup.subtree_control", "hugetlb");
    for tree in ["pids", "memory/jobs/7", "cpu"] {
        machine.write(&format!("sys/fs/cgroup/{tree}/cgroup.procs"), "");
    }
    // What a program left that is gone.
    std::fs::create_dir_all(machine.path("sys/fs/cgroup/pids/chela-1-0")).unwrap();
    let counting = machine.find();
    assert!(!machine.path("sys/fs/cgroup/pids/chela-1-0").exists());
    assert!(counting.limits_processors() && !counting.limits_swap());
    let group = counting.group(&bounds()).unwrap().unwrap();
    assert_eq!(group.entrances().len(), 3);
    assert!(group.parts[1].starts_with(machine.path("sys/fs/cgroup/memory/jobs/7")));
    assert_eq!(read(&group, 0, "pids.max"), "44");
    assert_eq!(
        read(&group, 1, "memory.limit_in_bytes"),
        (80 << 20).to_string()
    );
    assert_eq!(read(&group, 2, "cpu.cfs_quota_us"), "150000");
    clear(&group);
}
