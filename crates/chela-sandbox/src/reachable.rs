//! Where a name leads, and which addresses are those of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;

/// Looks up the addresses of a host.
pub trait HostLookup: Send + Sync + std::fmt::Debug {
    fn addresses<'a>(
        &'a self,
        host: &'a str,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send + 'a>>;
}

/// The system's way.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

impl HostLookup for SystemLookup {
    fn addresses<'a>(
        &'a self,
        host: &'a str,
    ) -> Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send + 'a>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        // Shared between customers of a provider (CGNAT).
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        // Benchmarks.
        || (a == 198 && (18..20).contains(&b))
        // Metadata of clouds besides 169.254.169.254.
        || address == Ipv4Addr::new(168, 63, 129, 16);
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out; of it, these are special.
    let global = first & 0xe000 == 0x2000;
    let special = (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        || (first == 0x3fff && second & 0xf000 == 0);
    global && !special
}

/// The IPv4 address inside a mapped, translated (NAT64), 6to4 or compatible one.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // The local-use NAT64 prefix leads wherever its network says: never public.
        [0x64, 0xff9b, 1, ..] => Some(Ipv4Addr::LOCALHOST),
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo hides the client's address inverted.
        [0x2001, 0, _, _, _, _, high, low] => v4(!high, !low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn only_the_public_internet_is_public() {
        for address in [
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.1.1",
            "100.100.100.200",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "168.63.129.16",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001:db8::1",
            "fec0::1",
            "2001:0:0:0:0:0:80ff:fffe",
            "::ffff:0:127.0.0.1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
            "2a00:1450:4001:81b::200e",
            "64:ff9b::101:101",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
