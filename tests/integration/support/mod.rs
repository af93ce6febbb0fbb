//! What the tests share: a [`World`] of directories, a server in it, clients that call its tools, and the replies.

mod client;
mod corpus;
mod descriptors;
pub mod drafts;
mod http;
mod http_inside;
mod inside;
mod internet;
mod launch;
mod listeners;
mod memory;
mod person;
mod processes;
mod refused_calls;
mod reply;
mod waiting;
mod world;

pub use client::{Client, Pending, StartOptions};
pub use corpus::corpus;
pub use descriptors::{open_files, read_position};
pub use http::{Exchange, HttpClient, HttpReply, HttpServer};
pub use http_inside::{HttpInside, http_everywhere};
pub use inside::{Inside, Level, each_case, everywhere, user_words};
pub use internet::{Internet, Wish, on_the_internet};
pub use launch::{User, by_python, launched, launcher};
pub use listeners::Listeners;
pub use memory::{peak, resident};
pub use person::{Person, choice};
pub use processes::{alive, descendants, waiting_shells, with_word};
pub use refused_calls::{Refused, refuse};
pub use reply::Reply;
pub use waiting::{until, with_enough_time};
pub use world::{World, nap, text};
