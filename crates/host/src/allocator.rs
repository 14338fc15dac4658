//! The C library's allocator, as a daemon needs it.

/// Buffers from this size on are mappings of their own, which the system has back the moment they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// Has large buffers given back to the system when they are freed. glibc raises the size from which it does so each time that a large
/// one is freed, up to 32 MiB, and then keeps what a flood of file contents has taken. Other C libraries are left as they are.
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "there is no safe form of mallopt(3)")
)]
pub fn give_back_large_buffers() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes two numbers, and may be called at any time. That it is refused changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}
