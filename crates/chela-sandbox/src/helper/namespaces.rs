//! A network, IPC and mounts of its own, without bubblewrap.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

/// Leaves the network of the machine for one that has nothing but its loopback.
pub fn enter() -> io::Result<()> {
    as_same_user(UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWNS)?;
    loopback_up()
}

/// Leaves some namespaces with the rights of a namespace of users of its own, in which this user
/// is the same and nobody else is there: files keep their owner.
pub fn as_same_user(flags: UnshareFlags) -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    leave(UnshareFlags::NEWUSER | flags)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

pub fn leave(flags: UnshareFlags) -> io::Result<()> {
    #[expect(
        deprecated,
        reason = "the helper has one thread here, and no file descriptors are unshared"
    )]
    rustix::thread::unshare(flags)?;
    Ok(())
}

/// Asks the kernel, over netlink, to switch device 1 on.
fn loopback_up() -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    // Family, type and the number of the device: the loopback is always the first.
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    // Protocol 0 is the one of routes and links.
    let kernel = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    send(&kernel, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    let code = answer
        .get(16..20)
        .filter(|_| length >= 20)
        .and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
