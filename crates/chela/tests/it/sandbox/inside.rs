//! What runs inside the sandbox and tries to get out: this very test program, started again.

#![expect(
    unsafe_code,
    reason = "what a sandbox refuses can only be tried by asking the kernel itself"
)]
#![expect(
    clippy::print_stdout,
    reason = "the test outside reads what is printed"
)]

use std::io::{Error, Read, Write};
use std::net::{TcpStream, ToSocketAddrs, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

/// Does nothing unless it is started by another test, inside.
#[test]
fn probe() {
    let Ok(what) = std::env::var("ESCAPE") else {
        return;
    };
    match what.as_str() {
        "calls" => calls(),
        "processes" => processes(),
        "sockets" => sockets(),
        "privileges" => privileges(),
        "proxy" => proxy(),
        "balloon" => balloon(),
        "without-landlock" => without_landlock(),
        other => println!("there is no attempt `{other}`"),
    }
}

fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn tell<T>(name: &str, outcome: Result<T, Error>) {
    match outcome {
        Ok(_) => println!("{name}: ESCAPED"),
        Err(error) => println!("{name}: held ({error})"),
    }
}

fn call(number: i64, arguments: [i64; 5]) -> Result<i64, Error> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: the arguments are numbers, or addresses of statics that live as long as this does;
    // a call that is not refused fails on them or changes this process only.
    match unsafe { libc::syscall(number, a, b, c, d, e) } {
        -1 => Err(Error::last_os_error()),
        value => Ok(value),
    }
}

/// A call that is refused fails as such, whatever its arguments: anything else got through.
fn refused(name: &str, number: i64, arguments: [i64; 5]) {
    let outcome = match call(number, arguments) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => {
            Err(error)
        }
        other => {
            println!("{name}: the kernel says {other:?}");
            Ok(())
        }
    };
    tell(name, outcome);
}

/// System calls that no command needs. The arguments are such that the kernel would complain
/// about them, or do nothing, if it got to see them.
fn calls() {
    let none = [0; 5];
    let bad = [-1, -1, -1, -1, -1];
    for (name, number, arguments) in [
        ("ptrace", libc::SYS_ptrace, none),
        ("mount", libc::SYS_mount, none),
        ("umount", libc::SYS_umount2, none),
        ("pivot_root", libc::SYS_pivot_root, none),
        ("chroot", libc::SYS_chroot, none),
        ("open_tree", libc::SYS_open_tree, bad),
        ("move_mount", libc::SYS_move_mount, bad),
        ("fsopen", libc::SYS_fsopen, none),
        ("mount_setattr", libc::SYS_mount_setattr, bad),
        (
            "unshare user",
            libc::SYS_unshare,
            [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0],
        ),
        ("unshare nothing", libc::SYS_unshare, none),
        ("setns", libc::SYS_setns, bad),
        ("clone3", libc::SYS_clone3, none),
        ("keyctl", libc::SYS_keyctl, bad),
        ("add_key", libc::SYS_add_key, none),
        ("request_key", libc::SYS_request_key, none),
        ("bpf", libc::SYS_bpf, bad),
        ("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, none),
        ("io_uring", libc::SYS_io_uring_setup, none),
        ("init_module", libc::SYS_init_module, none),
        ("finit_module", libc::SYS_finit_module, bad),
        ("kexec", libc::SYS_kexec_load, bad),
        ("reboot", libc::SYS_reboot, none),
        ("swapon", libc::SYS_swapon, none),
        ("syslog", libc::SYS_syslog, [2, 0, 0, 0, 0]),
        ("settimeofday", libc::SYS_settimeofday, none),
        ("sethostname", libc::SYS_sethostname, none),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, bad),
        ("process_vm_readv", libc::SYS_process_vm_readv, none),
        ("process_vm_writev", libc::SYS_process_vm_writev, none),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, bad),
        ("kcmp", libc::SYS_kcmp, none),
        ("memfd_create", libc::SYS_memfd_create, none),
        ("memfd_secret", libc::SYS_memfd_secret, none),
        ("shmget", libc::SYS_shmget, [0, 4096, 0o1600, 0, 0]),
        ("personality", libc::SYS_personality, [0x40000, 0, 0, 0, 0]),
        (
            "words into the terminal",
            libc::SYS_ioctl,
            [0, 0x5412, 0, 0, 0],
        ),
        ("listmount", 458, none),
        ("a call of tomorrow", 499, none),
        ("another calling convention", 0x4000_0000 | 39, none),
    ] {
        refused(name, number, arguments);
    }
    let flags = i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
    refused("clone a namespace", libc::SYS_clone, [flags, 0, 0, 0, 0]);
}

/// A process outside, by its number.
fn processes() {
    let target: i64 = var("TARGET").parse().unwrap_or(1);
    let name = |what: &str| format!("{what} {target}");
    tell(&name("kill"), call(libc::SYS_kill, [target, 0, 0, 0, 0]));
    tell(&name("tkill"), call(libc::SYS_tkill, [target, 0, 0, 0, 0]));
    tell(
        &name("tgkill"),
        call(libc::SYS_tgkill, [target, target, 0, 0, 0]),
    );
    tell(&name("end"), call(libc::SYS_kill, [target, 9, 0, 0, 0]));
    if let Ok(handle) = call(libc::SYS_pidfd_open, [target, 0, 0, 0, 0]) {
        let sent = call(libc::SYS_pidfd_send_signal, [handle, 9, 0, 0, 0]);
        tell(&name("signal by handle"), sent);
    }
    if let Err(error) = signal_by_file(target) {
        println!("{}: held ({error})", name("signal by file"));
    }
    tell(
        &name("trace"),
        call(libc::SYS_ptrace, [16, target, 0, 0, 0]),
    );
    for file in [
        "environ", "mem", "maps", "cmdline", "status", "root/", "cwd/", "fd/0", "exe",
    ] {
        let path = format!("/proc/{target}/{file}");
        let read = match path.ends_with('/') {
            true => std::fs::read_dir(&path).map(drop),
            false => std::fs::File::open(&path).map(drop),
        };
        tell(&path, read);
    }
    tell(
        "limits of it",
        call(libc::SYS_prlimit64, [target, 7, 0, 0, 0]).and_then(|_| {
            let lower = libc::rlimit {
                rlim_cur: 3,
                rlim_max: 3,
            };
            let lower = std::ptr::from_ref(&lower) as i64;
            call(libc::SYS_prlimit64, [target, 7, lower, 0, 0])
        }),
    );
}

/// Has a file tell the process that something can be read, by a signal that ends it.
fn signal_by_file(target: i64) -> Result<(), Error> {
    let mut ends = [0_i32; 2];
    call(libc::SYS_pipe2, [ends.as_mut_ptr() as i64, 0, 0, 0, 0])?;
    let (reader, writer) = (i64::from(ends[0]), i64::from(ends[1]));
    let set = |what: i32, value: i64| call(libc::SYS_fcntl, [reader, what.into(), value, 0, 0]);
    // F_SETSIG has no name in libc.
    set(10, libc::SIGKILL.into())?;
    set(libc::F_SETOWN, target)?;
    set(libc::F_SETFL, (libc::O_ASYNC | libc::O_NONBLOCK).into())?;
    call(libc::SYS_write, [writer, b"x".as_ptr() as i64, 1, 0, 0])?;
    std::thread::sleep(Duration::from_millis(50));
    // Whether it arrived is seen outside.
    println!("signal by file to {target}: sent");
    Ok(())
}

/// Becomes the program with a kernel that knows nothing of Landlock.
fn without_landlock() {
    use std::os::unix::process::CommandExt;
    let step = |code: u16, jt: u8, jf: u8, k: u32| libc::sock_filter { code, jt, jf, k };
    let number = u32::try_from(libc::SYS_landlock_create_ruleset).unwrap();
    let not_there = 0x0005_0000 | libc::ENOSYS.cast_unsigned();
    let mut steps = [
        step(0x20, 0, 0, 0),
        step(0x15, 0, 1, number),
        step(0x06, 0, 0, not_there),
        step(0x06, 0, 0, 0x7fff_0000),
    ];
    let filter = libc::sock_fprog {
        len: 4,
        filter: steps.as_mut_ptr(),
    };
    let filter = std::ptr::from_ref(&filter) as i64;
    let prctl = |what: i32, a: i64, b: i64| call(libc::SYS_prctl, [what.into(), a, b, 0, 0]);
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0).unwrap();
    prctl(libc::PR_SET_SECCOMP, 2, filter).unwrap();
    let error = std::process::Command::new(var("CHELA"))
        .args(var("WORDS").split_whitespace())
        .exec();
    println!("the program did not start: {error}");
}

/// Ways to somebody else over a socket.
fn sockets() {
    let soon = Duration::from_secs(2);
    for address in var("TCP").split(',').filter(|address| !address.is_empty()) {
        let connected = address
            .to_socket_addrs()
            .and_then(|mut found| found.next().ok_or_else(|| Error::other("no address")))
            .and_then(|address| TcpStream::connect_timeout(&address, soon));
        tell(&format!("tcp {address}"), connected);
    }
    for address in var("UDP").split(',').filter(|address| !address.is_empty()) {
        let sent = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"out", address));
        // Sending into nothing is no way out: whether it arrived is seen outside.
        println!("udp {address}: {sent:?}");
    }
    for name in [
        "example.org:80",
        "localhost.localdomain.test:80",
        "dns.google:53",
    ] {
        tell(&format!("name {name}"), name.to_socket_addrs().map(drop));
    }
    for path in var("UNIX").split(',').filter(|path| !path.is_empty()) {
        tell(&format!("unix {path}"), UnixStream::connect(path));
    }
    let hidden = SocketAddr::from_abstract_name(var("ABSTRACT"));
    tell(
        "unix without a file",
        hidden.and_then(|address| UnixStream::connect_addr(&address)),
    );
    for (name, family, kind) in [
        ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM),
        ("packet", libc::AF_PACKET, libc::SOCK_RAW),
        ("netlink", libc::AF_NETLINK, libc::SOCK_RAW),
        ("raw", libc::AF_INET, libc::SOCK_RAW),
        ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET),
        ("bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW),
        ("key", libc::AF_KEY, libc::SOCK_RAW),
    ] {
        let arguments = [i64::from(family), i64::from(kind), 0, 0, 0];
        tell(&format!("socket {name}"), call(libc::SYS_socket, arguments));
    }
}

/// What this process has besides its user.
fn privileges() {
    let status = call(
        libc::SYS_prctl,
        [libc::PR_GET_NO_NEW_PRIVS.into(), 0, 0, 0, 0],
    );
    println!("no new privileges: {status:?}");
    // Each needs one capability and nothing else.
    let file = std::fs::File::create("owned");
    tell(
        "give a file away",
        file.and_then(|_| std::os::unix::fs::chown("owned", Some(12_345), None)),
    );
    tell(
        "become somebody else",
        call(libc::SYS_setuid, [12_345, 0, 0, 0, 0]),
    );
    tell(
        "be more important",
        call(libc::SYS_setpriority, [0, 0, -10, 0, 0]),
    );
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    println!("open files: {:?}", limit.maximum);
    let files: Vec<_> = (0..4_096)
        .map_while(|_| std::fs::File::open("/dev/null").ok())
        .collect();
    println!("opened: {}", files.len());
}

/// Asks the proxy for what `WANT` says, and prints what comes back.
fn proxy() {
    let address = var("HTTPS_PROXY").replace("http://", "");
    println!("proxy: {address}");
    let answer = TcpStream::connect(&address).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let want = var("WANT");
        write!(
            stream,
            "CONNECT {want} HTTP/1.1\r\nHost: {want}\r\n\r\nhello"
        )?;
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        Ok(answer)
    });
    println!("answer: {answer:?}");
}

/// Holds `MEGABYTES` for a while.
fn balloon() {
    let bytes = var("MEGABYTES").parse::<usize>().unwrap_or(1) << 20;
    let mut held: Vec<u8> = Vec::new();
    match held.try_reserve_exact(bytes) {
        Ok(()) => {
            held.resize(bytes, 7);
            println!(
                "holding {} MB",
                held.iter().filter(|byte| **byte == 7).count() >> 20
            );
            std::thread::sleep(Duration::from_secs(10));
            println!("still here");
        }
        Err(error) => println!("refused: {error}"),
    }
}

/// The version of Landlock the kernel says it has.
pub fn landlock_version() -> Result<i64, Error> {
    call(libc::SYS_landlock_create_ruleset, [0, 0, 1, 0, 0])
}
