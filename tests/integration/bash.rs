use serde_json::json;

use crate::support::World;

#[test]
fn echo_hello_is_exactly_the_contracts_text() {
    let world = World::new();
    let mut server = world.server(&[]);
    assert_eq!(server.bash("echo hello").ok(), "exit_code: 0\n\nstdout:\nhello\n");
}
