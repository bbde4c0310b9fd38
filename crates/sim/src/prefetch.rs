//! Asking memory for what will be needed, without waiting for it.

/// Brings a value's first bytes into the processor's caches while other things are done. Where there is no such
/// instruction nothing happens.
#[inline]
pub fn prefetch<T>(value: &T) {
    prefetch_behind(value, 0);
}

/// The same of what lies so many values behind it, whatever that is: where a queue will be written next.
#[inline]
#[allow(unsafe_code, reason = "the one instruction for it has no safe name")]
pub fn prefetch_behind<T>(value: &T, values: usize) {
    let place = std::ptr::from_ref(value).wrapping_add(values);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads nothing that the program could see, and faults at no address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
