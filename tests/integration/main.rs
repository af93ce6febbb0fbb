//! Tests against the real binary over its real transports. Each test has directories of its own. There is one file per
//! tool and one per theme.

#![expect(clippy::needless_pass_by_value, reason = "`json!` literals are handed over, not borrowed")]

mod support;

mod approvals;
mod bash;
mod broken_input;
mod cli;
mod corpus;
mod corpus_paths;
mod create_file;
mod denials;
mod differential;
mod execute_command;
mod file_systems;
mod find;
mod git_tracked_names;
mod grep;
mod http;
mod http_calls;
mod http_questions;
mod http_share;
mod http_slow;
mod hung_mount;
mod install;
mod install_docs;
mod kept_on_disk;
mod launch;
mod launch_descriptors;
mod launch_messages;
mod lifecycle;
mod output;
mod own_server;
mod patience;
mod pictures;
mod planted_names;
mod policy;
mod policy_attacks;
mod posix_shell;
mod prompts;
mod protected_files;
mod protocol;
mod questions;
mod results;
mod roots;
mod run_shell_command;
mod sandbox;
mod sandbox_corpus;
mod sandbox_environment;
mod sandbox_limits;
mod sandbox_places;
mod sandbox_privileges;
mod sandbox_protect;
mod sandbox_work;
mod scarce;
mod scope;
mod stopped;
mod str_replace;
mod str_replace_cost;
mod str_replace_editor;
mod survivors;
mod tasks;
mod terminals;
mod unusual_starts;
mod view;
