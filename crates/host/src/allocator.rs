//! Settings of the C library's allocator for a long-running daemon.

/// Buffers of at least this size are separate mappings, which the system reclaims as soon as they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// Makes the allocator return large buffers to the system when they are freed. glibc raises its threshold for that, up
/// to 32 MiB, each time a large buffer is freed. It then keeps the memory that a burst of file contents used. Other C
/// libraries are left unchanged.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe form of mallopt(3)")
)]
pub fn give_back_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes two numbers and is allowed at any time. If it fails, nothing changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}
