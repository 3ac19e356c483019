//! Names of machines.

use std::net::IpAddr;

/// Whether a host, as addresses write it, is this machine by its very name. Nothing is looked up.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match address.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => {
            let name = host.to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // NET-02
    #[test]
    fn this_machine_is_known_by_name_and_number() {
        for host in ["localhost", "LOCALHOST", "app.localhost", "127.0.0.1", "127.8.9.10", "[::1]", "::1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "notlocalhost",
            "127.0.0.1.example.org",
            "0.0.0.0",
            "10.0.0.1",
            "[::]",
            "[::ffff:10.0.0.1]",
            "the provider's web search",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
