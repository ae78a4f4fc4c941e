//! What the process holds: memory and threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

struct Counting;

static BLOCKS: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

fn count(blocks: i64, bytes: usize, sign: i64) {
    BLOCKS.fetch_add(blocks, Relaxed);
    BYTES.fetch_add(sign * i64::try_from(bytes).unwrap_or(0), Relaxed);
}

#[allow(unsafe_code, reason = "a global allocator cannot be written without")]
// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-1, layout.size(), -1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(0, layout.size(), -1);
        count(0, size, 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the process holds at one moment.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    /// Live allocations, and their bytes.
    pub(crate) blocks: i64,
    pub(crate) bytes: i64,
    /// Resident memory.
    pub(crate) kib: u64,
    pub(crate) threads: u64,
}

impl Held {
    pub(crate) fn now() -> Self {
        let (blocks, bytes) = (BLOCKS.load(Relaxed), BYTES.load(Relaxed));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        Self {
            blocks,
            bytes,
            kib: field("VmRSS:"),
            threads: field("Threads:"),
        }
    }

    /// The highest of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            blocks: self.blocks.max(other.blocks),
            bytes: self.bytes.max(other.bytes),
            kib: self.kib.max(other.kib),
            threads: self.threads.max(other.threads),
        }
    }
}
