//! Settings of the C library's allocator for a long-running daemon.

/// Buffers of at least this size are separate mappings, which the system reclaims as soon as they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// Address space by which a heap grows at once. It is memory only when it is used.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const GROWTH_BYTES: libc::c_int = 1 << 20;

/// Free memory at the end of a heap that is kept. Batches of an agent's updates need it again at once; with glibc's 128 KiB,
/// most of it would be returned and taken from the system again for each batch.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 4 << 20;

/// Returns all free memory to the system, for example after the start, which uses memory that is not needed again.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe form of malloc_trim(3)")
)]
pub fn give_back_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes a number and is allowed at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes the allocator return large buffers to the system when they are freed. glibc raises its threshold for that, up
/// to 32 MiB, each time a large buffer is freed. It then keeps the memory that a burst of file contents used. Other C
/// libraries are left unchanged.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe form of mallopt(3)")
)]
pub fn give_back_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the calls take two numbers and are allowed at any time. If one fails, nothing changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
        libc::mallopt(libc::M_TOP_PAD, GROWTH_BYTES);
    }
}
