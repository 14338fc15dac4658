//! Hosts of URLs.

use std::net::{IpAddr, Ipv4Addr};

/// Returns the address that the host of a URL has by its text alone: an IP address, or `localhost`.
pub fn address_of(host: &str) -> Option<IpAddr> {
    match host {
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => host.trim_start_matches('[').trim_end_matches(']').parse().ok(),
    }
}

/// Returns whether the host of a URL is this computer, by its text alone.
pub fn is_loopback(host: &str) -> bool {
    address_of(host).is_some_and(|address| address.is_loopback())
}
