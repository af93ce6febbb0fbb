//! Small things that several rooms use. They know nothing of testudo.

pub mod identity;
pub mod invisible;
pub mod lexical;
pub mod line_diff;
pub mod locks;
pub mod mounts;
pub mod packed;
pub mod path_notices;
pub mod private_directory;
pub mod protected_names;
pub mod random;
pub mod search_path;
pub mod secret_names;
pub mod secret_values;
pub mod size;
pub mod spelling;
pub mod wildcard;
pub mod worker_threads;
pub mod yaml;
