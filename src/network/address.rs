//! Which addresses lead to the internet at large, and which to this machine, its neighbours, or the provider of the machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of address it is, if it is one that a command reaches only if a person has named that very address.
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, d] = address.octets();
    match (a, b, c, d) {
        (127, ..) => Some("a loopback address"),
        (0, ..) => Some("an address of this machine"),
        (169, 254, ..) => Some("a link-local address, such as that of a cloud's metadata"),
        (10, ..) | (172, 16..=31, ..) | (192, 168, ..) => Some("a private address"),
        (100, 64..=127, ..) => Some("an address shared by a provider's customers"),
        // Azure's metadata and agents; it looks like any other address.
        (168, 63, 129, 16) => Some("the address of a cloud's metadata"),
        (224..=239, ..) => Some("a multicast address"),
        (192, 0, 0, _) | (240..=255, ..) => Some("a reserved address"),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        // Addresses of version 4 in those of version 6, by which a gateway reaches them.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => special_v4(embedded(high, low)),
        [0x2002, high, low, ..] => special_v4(embedded(high, low)).or(Some("a reserved address")),
        // A tunnel with an address of version 4 in it, and prefixes that an operator uses inside.
        [0x64, 0xff9b, ..] | [0x2001, 0, ..] | [0, 0, 0, 0, 0, 0, ..] => Some("a reserved address"),
        [0xfc00..=0xfdff, ..] => Some("a private address"),
        [0xfe80..=0xfeff, ..] => Some("a link-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::special;

    #[test]
    fn every_way_to_write_an_inner_address_is_found() {
        for address in [
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(special(address.parse().unwrap()).is_some(), "{address}");
        }
        for address in
            ["93.184.216.34", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "64:ff9b::101:101"]
        {
            assert_eq!(special(address.parse().unwrap()), None, "{address}");
        }
    }
}
