//! Where the session shares the host's network, TCP goes to the proxy and nowhere else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Refused;

/// `address` is what the caller has given to `connect`.
pub fn check(address: &[u8], proxy: u16) -> Result<(), Refused> {
    let wanted = read(address);
    if proxy != 0 && wanted == Some(SocketAddr::from((Ipv4Addr::LOCALHOST, proxy))) {
        return Ok(());
    }
    let shown = wanted.map_or_else(|| "an unknown address".to_owned(), |address| address.to_string());
    let text = format!(
        "commands reach other hosts through the proxy only (HTTP_PROXY and its kin), and at level landlock nothing else, so \
         a connection to {shown} was refused (--network hosts)"
    );
    Err(Refused::because(libc::EACCES, text))
}

/// An address as the kernel reads it.
fn read(address: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(address.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    let ip = match i32::from(family) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address.get(4..8)?).ok()?)),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address.get(8..24)?).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(family: i32, port: u16, ip: &[u8]) -> Vec<u8> {
        let family = u16::try_from(family).unwrap().to_ne_bytes();
        let flow: &[u8] = if ip.len() == 16 { &[0; 4] } else { &[] };
        [&family[..], &port.to_be_bytes(), flow, ip, &[0; 8]].concat()
    }

    #[test]
    fn only_the_proxy_can_be_connected_to() {
        let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets();
        for (address, fine) in [
            (address(libc::AF_INET, 3128, &[127, 0, 0, 1]), true),
            (address(libc::AF_INET6, 3128, &mapped), true),
            (address(libc::AF_INET, 3129, &[127, 0, 0, 1]), false),
            (address(libc::AF_INET, 3128, &[127, 0, 0, 2]), false),
            (address(libc::AF_INET, 3128, &[0, 0, 0, 0]), false),
            (address(libc::AF_INET6, 3128, &Ipv6Addr::LOCALHOST.octets()), false),
            (address(libc::AF_UNSPEC, 3128, &[127, 0, 0, 1]), false),
            (vec![2, 0], false),
            (vec![], false),
        ] {
            assert_eq!(check(&address, 3128).is_ok(), fine, "{address:?}");
        }
        assert!(check(&address(libc::AF_INET, 0, &[127, 0, 0, 1]), 0).is_err());
    }
}
