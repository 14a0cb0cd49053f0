//! What a sandboxed program asks the proxy for: nothing panics, the host is a plain name, and what
//! goes on to a server is one request for that host, however a server cuts lines.
#![no_main]

use chela_sandbox::read_proxy_head;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((host, _, forward)) = read_proxy_head(data) else {
        return;
    };
    assert!(!host.is_empty() && host.is_ascii());
    assert_eq!(host, host.to_lowercase());
    let Some(forward) = forward else { return };
    let text = String::from_utf8(forward).unwrap();
    assert!(text.ends_with("\r\n\r\n") && text.matches("\r\n\r\n").count() == 1);
    // Some servers take a line feed alone for the end of a line.
    let lines: Vec<&str> = text.split(['\r', '\n']).collect();
    let hosts: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim())
        .collect();
    assert_eq!(hosts.len(), 1, "{text:?}");
    assert!(hosts[0].to_ascii_lowercase().contains(&host));
});
