//! Where a service may lead us when it says who lets users in: to machines that everybody can reach. This machine, and
//! those of the network around it, only if the service is one of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tiller_protocol::host::is_loopback;
use url::Host;

/// Who can reach an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circle {
    Everybody,
    ThisMachine,
    ThisNetwork,
    /// Nobody should: it stands for something else, such as what a cloud tells its machines.
    Nobody,
}

impl Circle {
    fn of(address: IpAddr) -> Self {
        let address = match address {
            IpAddr::V6(long) => within(long).map_or(address, IpAddr::V4),
            IpAddr::V4(_) => address,
        };
        if address.is_loopback() {
            return Self::ThisMachine;
        }
        match address {
            IpAddr::V4(short) => match short.octets() {
                _ if short.is_private() => Self::ThisNetwork,
                [100, 64..=127, ..] => Self::ThisNetwork,
                [0, ..] | [198, 18 | 19, ..] => Self::Nobody,
                _ if short.is_link_local() || short.is_broadcast() || short.is_multicast() => Self::Nobody,
                _ => Self::Everybody,
            },
            IpAddr::V6(long) => match long.segments() {
                [0xfc00..=0xfdff, ..] => Self::ThisNetwork,
                [0x2001, 0, ..] | [0x64, 0xff9b, 1, ..] => Self::Nobody,
                _ if long.is_unspecified() || long.is_multicast() || long.is_unicast_link_local() => {
                    Self::Nobody
                }
                _ => Self::Everybody,
            },
        }
    }
}

/// The short address that a long one only wraps.
fn within(long: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match long.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => joined(high, low),
        [0x2002, high, low, ..] => joined(high, low),
        _ => None,
    }
}

/// Where a service may lead us.
#[derive(Clone)]
pub(super) struct Neighbours {
    /// The circle that the service itself is in, as far as its address says so.
    circle: Circle,
    own: Option<IpAddr>,
    /// Machines that the user has named: a proxy, an identity provider.
    named: Arc<[String]>,
}

impl Neighbours {
    pub(super) fn of(service: &Url, named: impl Iterator<Item = String>) -> Self {
        let own = literal(service);
        let circle = match own {
            Some(address) => Circle::of(address),
            None if is_loopback(service.host_str().unwrap_or_default()) => Circle::ThisMachine,
            None => Circle::Everybody,
        };
        Self { circle, own, named: named.map(|name| plain(&name)).collect() }
    }

    /// Whether a request may go there, as far as that can be said before its name is looked up.
    pub(super) fn may_go_to(&self, url: &Url) -> bool {
        matches!(url.scheme(), "http" | "https")
            && match literal(url) {
                Some(address) => self.own == Some(address) || self.is_named(url) || self.may_reach(address),
                None => true,
            }
    }

    fn is_named(&self, url: &Url) -> bool {
        self.named.contains(&plain(url.host_str().unwrap_or_default()))
    }

    fn may_reach(&self, address: IpAddr) -> bool {
        match Circle::of(address) {
            Circle::Everybody => true,
            Circle::Nobody => false,
            circle => circle == self.circle,
        }
    }
}

impl Resolve for Neighbours {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if this.named.contains(&plain(name.as_str())) {
                return Ok(Box::new(found.into_iter()) as Addrs);
            }
            let allowed: Vec<SocketAddr> = found.into_iter().filter(|one| this.may_reach(one.ip())).collect();
            match allowed.is_empty() {
                true => {
                    Err(format!("{} is at an address that the service may not lead to", name.as_str()).into())
                }
                false => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(short) => Some(short.into()),
        Host::Ipv6(long) => Some(long.into()),
        Host::Domain(_) => None,
    }
}

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(service: &str, to: &str) -> bool {
        let service = Url::parse(service).unwrap();
        Neighbours::of(&service, ["idp.corp".to_owned()].into_iter()).may_go_to(&Url::parse(to).unwrap())
    }

    // MCP-09
    #[test]
    fn a_service_leads_nobody_into_a_network_that_it_is_not_part_of() {
        for inside in [
            "http://127.0.0.1/",
            "http://10.0.0.9/",
            "http://192.168.1.1/",
            "http://100.64.0.1/",
            "http://169.254.169.254/latest",
            "http://[::1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
            "http://[::ffff:10.0.0.9]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[2002:a00:9::]/",
            "http://0.0.0.0/",
            "file:///etc/passwd",
        ] {
            assert!(!leads("https://example.org/mcp", inside), "{inside}");
        }
        for outside in ["https://93.184.216.34/", "https://[2606:4700::1111]/", "https://auth.example.org/"] {
            assert!(leads("https://example.org/mcp", outside), "{outside}");
        }
        assert!(leads("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token"));
        assert!(leads("http://localhost:1/mcp", "http://127.0.0.1:2/token"));
        assert!(!leads("http://127.0.0.1:1/mcp", "http://10.0.0.9/token"));
        assert!(leads("http://10.0.0.1/mcp", "http://10.0.0.9/token"));
        assert!(!leads("http://10.0.0.1/mcp", "http://169.254.169.254/"));
    }

    #[tokio::test]
    async fn names_are_no_way_around() {
        let resolve = |service: &str, named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
            let neighbours = Neighbours::of(&Url::parse(service).unwrap(), named.into_iter());
            async move { neighbours.resolve("localhost".parse().unwrap()).await.is_ok() }
        };
        assert!(!resolve("https://example.org/mcp", &[]).await);
        assert!(resolve("https://example.org/mcp", &["LOCALHOST."]).await);
        assert!(resolve("http://127.0.0.1/mcp", &[]).await);
    }
}
