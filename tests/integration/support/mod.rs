//! A harness in which a test reads like a sentence: given a world, a server in it answers a call so.

mod client;
mod corpus;
mod http;
mod inside;
mod person;
mod processes;
mod reply;
mod waiting;
mod world;

pub use client::{Client, StartOptions};
pub use corpus::corpus;
pub use http::{Exchange, HttpClient, HttpReply, HttpServer};
pub use inside::{Inside, Level, everywhere};
pub use person::{Person, choice};
pub use processes::{alive, descendants, with_word};
pub use reply::Reply;
pub use waiting::{until, with_enough_time};
pub use world::{World, nap, text};
