//! What appears in a directory, told by the kernel at once.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Instant;

use rustix::fs::inotify;
use rustix::io::Errno;

use super::process::{LONGEST, Process};

/// Names that come to a directory from the moment on that this is made.
pub struct Watch {
    queue: OwnedFd,
}

impl Watch {
    pub fn on(dir: &Path) -> Self {
        let queue = inotify::init(inotify::CreateFlags::NONBLOCK).expect("inotify");
        let flags = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&queue, dir, flags).expect("a watch");
        Self { queue }
    }

    /// Whether such a name has come since the last call that said so.
    pub fn has_seen(&self, wanted: impl Fn(&str) -> bool) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                    if name.is_some_and(|name| wanted(&name)) {
                        return true;
                    }
                }
                Err(Errno::AGAIN) => return false,
                Err(error) => panic!("inotify: {error}"),
            }
        }
    }

    /// Spins until such a name comes; false if the process ends without.
    pub fn wait_for(&self, process: &mut Process, wanted: impl Fn(&str) -> bool) -> bool {
        let started = Instant::now();
        while !self.has_seen(&wanted) {
            assert!(started.elapsed() < LONGEST, "nothing came");
            if !process.is_running() {
                return self.has_seen(&wanted);
            }
            std::thread::yield_now();
        }
        true
    }
}
