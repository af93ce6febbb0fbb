//! How the allocator treats large blocks.

/// Blocks of a megabyte and more go back to the system when they are freed. Left to itself, glibc takes the first large
/// block as a sign that more will come and keeps them all: a server that edited a few files of 10 MB held on to 96 MB.
/// All threads share one arena: there are few threads, and every further arena costs an idle server memory.
#[cfg(target_env = "gnu")]
pub fn give_back_large_blocks() {
    const LARGE: libc::c_int = 1 << 20;
    // SAFETY: mallopt only sets parameters of the allocator and may be called at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Other allocators return large blocks by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn give_back_large_blocks() {}
