//! The way back from a schema provider to the session that holds it.

use std::sync::{Arc, Weak};

use datafusion::execution::context::{SessionContext, SessionState};

use crate::{Error, ErrorKind, Result};

/// A session, weakly held: the session owns the catalog that owns this.
#[derive(Clone, Default)]
pub(crate) struct SessionRef(Arc<std::sync::OnceLock<StateLookup>>);

type StateLookup = Box<dyn Fn() -> Option<SessionState> + Send + Sync>;

impl SessionRef {
    /// Ties the reference to a session, once.
    pub fn bind(&self, session: &SessionContext) {
        let weak = session.state_weak_ref();
        let lookup = move || Weak::upgrade(&weak).map(|state| state.read().clone());
        let _ = self.0.set(Box::new(lookup));
    }

    /// The session's state as it is now.
    pub fn state(&self) -> Result<SessionState> {
        let found = self.0.get().and_then(|lookup| lookup());
        found.ok_or_else(|| Error::new(ErrorKind::Internal, "the session is gone"))
    }
}

/// A copy of a state in which `extension` can be found by the plans made from it. Not by the
/// state's builder: that puts a new default catalog in place of the session's.
pub(crate) fn with_extension<T: Send + Sync + 'static>(
    state: &SessionState,
    extension: T,
) -> SessionState {
    let mut state = state.clone();
    state.config_mut().set_extension(Arc::new(extension));
    state
}
