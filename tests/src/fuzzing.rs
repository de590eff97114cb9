//! For runs on bytes that nobody meant: what is held is counted, and a long run goes by the clock.

#![expect(unsafe_code, reason = "an allocator can only be counted by an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread holds, and the most it has held.
    static LIVE: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

/// Counts what every thread holds; a test makes it its global allocator.
#[derive(Debug)]
pub struct Counting;

impl Counting {
    fn add(bytes: i64) {
        // A thread that is ending has nothing to count with.
        let _ = LIVE.try_with(|live| {
            let (now, most) = live.get();
            live.set((now + bytes, most.max(now + bytes)));
        });
    }
}

// SAFETY: everything is passed on to the system's allocator as it came; only sizes are noted, in a cell that does not
// allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::add(-(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most bytes that a piece of work holds at once.
pub fn most_held(work: impl FnOnce()) -> i64 {
    LIVE.with(|live| live.set((live.get().0, live.get().0)));
    let before = LIVE.with(Cell::get).0;
    work();
    LIVE.with(Cell::get).1 - before
}

/// A number from the environment.
pub fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// Whether there is time for another iteration.
#[expect(clippy::disallowed_methods, reason = "a long run is measured by the clock on the wall")]
pub fn clock(iterations: u64) -> impl Fn(u64) -> bool {
    let seconds = number_from("EVENHAND_FUZZ_SECONDS");
    let start = std::time::Instant::now();
    move |iteration| seconds.map_or(iteration < iterations, |seconds| start.elapsed().as_secs() < seconds)
}
