//! What the tests share: a [`World`] of directories, a server in it, clients that call its tools, and the replies.

mod client;
mod corpus;
mod descriptors;
mod http;
mod inside;
mod listeners;
mod person;
mod processes;
mod reply;
mod waiting;
mod world;

pub use client::{Client, StartOptions};
pub use corpus::corpus;
pub use descriptors::{open_files, read_position};
pub use http::{Exchange, HttpClient, HttpReply, HttpServer};
pub use inside::{Inside, Level, everywhere};
pub use listeners::Listeners;
pub use person::{Person, choice};
pub use processes::{alive, descendants, with_word};
pub use reply::Reply;
pub use waiting::{until, with_enough_time};
pub use world::{World, nap, text};
