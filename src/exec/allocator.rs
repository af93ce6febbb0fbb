//! How the allocator treats large blocks.

/// Blocks of a megabyte and more go back to the system when they are freed. Left to itself, glibc takes the first large
/// block as a sign that more will come and keeps them all: a server that edited a few files of 10 MB held on to 96 MB.
/// And all threads share one arena: there are few, and each arena more is memory that an idle server sits on.
#[cfg(target_env = "gnu")]
pub fn give_back_large_blocks() {
    const LARGE: libc::c_int = 1 << 20;
    // SAFETY: sets numbers of the allocator's; it may be called at any time and has no other effect.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Other allocators have no such habit.
#[cfg(not(target_env = "gnu"))]
pub fn give_back_large_blocks() {}
