//! The real gateway over the real wire, with real servers behind URLs on loopback. Containers and hosts are tested by
//! `scripts/test-gateway`.

mod at_most_once;
mod content;
mod fake_cluster;
mod fake_place;
mod hostile_places;
mod http_client;
mod kubernetes;
mod one_client;
mod refusals;
mod sessions;
mod slow_places;
mod stdio_client;
mod tls;
mod world;
