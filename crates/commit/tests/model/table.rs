//! The product's backend as a process sees it: others may go first between its methods, and a
//! mutation tampers with what it does and answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::script::Script;
use crate::backend::{
    Backend, Files, FoundFile, Hold, Logged, Look, Meta, Names, Slot, Staging, SuccessMarker,
};
use crate::partition::PartitionColumn;
use crate::record::{Outcome, Record, TransactionId};
use crate::snapshot::DataFile;
use crate::table::OpenFile;
use crate::vacuum::Waste;
use crate::{Error, Result};

/// A way to build the protocol wrong: one for each trap of its design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mutation {
    /// As it is.
    #[default]
    None,
    /// `published` moves before the files are in.
    PublishBeforeComplete,
    /// Removed files go before `published` moves.
    CleanBeforePublish,
    /// Whoever comes next doesn't finish the clean of the version before.
    LogBeforeClean,
    /// A file is what it is by its path alone.
    PathIsIdentity,
    /// An upload can be completed again and again.
    CompleteAgain,
    /// Whoever loses the update of `published` goes by the outcome it proposed.
    OwnOutcome,
    /// A put of a record whose outcome isn't known isn't repeated, but looked for.
    PutOnce,
    /// Staging is swept by a free lock alone, a record or not.
    SweepLogged,
    /// A name is added by two records.
    NameTwice,
    /// Readers don't take away what the published version removed.
    KeepRemoved,
    /// Readers put removed files back without a look at what was added.
    PutBackUnseen,
    /// Readers ask for later records before they list, not after.
    RecordsBeforeListing,
    /// Readers don't look at `published` once more.
    PublishedOnce,
    /// Readers don't look at `published` once more, and a trimmed record counts as one that changed
    /// nothing.
    OverTheGap,
}

/// A table's backend for one process.
pub(super) struct Watched {
    pub(super) inner: Arc<dyn Backend>,
    pub(super) script: Script,
    pub(super) mutation: Mutation,
    memory: Mutex<Memory>,
    cleans: bool,
}

/// The methods between which readers let others go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Look,
    Names,
    /// The first directory is listed with the names, the others later.
    Files(usize),
    Record,
    Open,
}

/// How far a snapshot got, and what a mutated reader goes by.
#[derive(Default)]
pub(super) struct Memory {
    looked: Option<Look>,
    looks: usize,
    last: Option<Method>,
    later: Vec<Arc<Record>>,
}

impl Watched {
    pub(super) fn new(inner: Arc<dyn Backend>, script: Script, mutation: Mutation) -> Self {
        Self { inner, script, mutation, memory: Mutex::default(), cleans: true }
    }

    /// The same for a settling that leaves out the clean.
    pub(super) fn without_clean(&self) -> Self {
        let (inner, script) = (Arc::clone(&self.inner), self.script.clone());
        Self { cleans: false, ..Self::new(inner, script, self.mutation) }
    }

    /// What was answered, if the step isn't over.
    async fn then<T>(&self, answer: T) -> T {
        self.script.stop().await;
        answer
    }

    /// Lets others go first, where that makes a difference: records don't change, so those that are
    /// asked for one after the other are one look; the first is the published one's.
    async fn before(&self, method: Method) {
        let goes_on = {
            let mut memory = self.memory();
            memory.looks += usize::from(method == Method::Look);
            let last = memory.last.replace(method);
            let settled = memory.looks.is_multiple_of(2);
            method == Method::Files(0)
                || (method == Method::Record && (settled || last == Some(method)))
        };
        if !goes_on {
            self.script.boundary().await;
        }
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn later_than(&self, version: u64) -> Result<Vec<Arc<Record>>> {
        let mut later = Vec::new();
        while let Some(Slot::Record(record)) =
            self.inner.record(version + 1 + later.len() as u64).await?
        {
            later.push(record);
        }
        Ok(later)
    }

    fn tampered(&self, version: u64, slot: Option<Slot>) -> Option<Slot> {
        let memory = self.memory();
        let published = memory.looked.as_ref().and_then(|look| look.published.as_ref());
        let published = published.map_or(0, |published| published.version);
        match self.mutation {
            Mutation::KeepRemoved if version == published => {
                let mut record = Record::clone(slot?.into_record()?.as_ref());
                record.partitions.iter_mut().for_each(|partition| partition.removed.clear());
                Some(Slot::Record(Arc::new(record)))
            }
            Mutation::RecordsBeforeListing if version > published => {
                let known = memory.later.iter().find(|record| record.version == version);
                known.cloned().map(Slot::Record)
            }
            Mutation::OverTheGap if slot.as_ref().is_none_or(|slot| slot.is_stub()) => {
                let newest = memory.later.last()?;
                let known = newest.version > version;
                let empty = Record { version, partitions: Vec::new(), ..Record::clone(newest) };
                known.then(|| Slot::Record(Arc::new(empty)))
            }
            _ => slot,
        }
    }

    /// All that later records added, as if it was there.
    fn seen(&self, dir: &str, files: &mut Vec<FoundFile>) {
        for record in &self.memory().later {
            for partition in record.partitions.iter().filter(|partition| partition.path == dir) {
                for file in &partition.added {
                    let path = file.path_in(dir);
                    if files.iter().all(|found| found.path != path) {
                        let identity = file.identity.clone();
                        files.push(FoundFile { path, identity, modified_ms: None });
                    }
                }
            }
        }
    }
}

impl Slot {
    fn is_stub(&self) -> bool {
        matches!(self, Self::Stub { .. })
    }
}

#[async_trait]
impl Backend for Watched {
    fn shown(&self) -> String {
        self.inner.shown()
    }

    fn trusts_records(&self) -> bool {
        self.inner.trusts_records()
    }

    async fn look(&self) -> Result<Look> {
        let known = self.memory().looked.clone();
        if let (Mutation::PublishedOnce | Mutation::OverTheGap, Some(known)) =
            (self.mutation, known)
        {
            return Ok(known);
        }
        self.before(Method::Look).await;
        let look = self.inner.look().await;
        let look = self.then(look).await?;
        let version = look.published.as_ref().map_or(0, |published| published.version);
        let first = self.memory().looked.is_none();
        if first && self.mutation == Mutation::RecordsBeforeListing {
            let later = self.later_than(version).await;
            self.memory().later = self.then(later).await?;
        }
        if first {
            self.memory().looked = Some(look.clone());
        }
        Ok(look)
    }

    async fn record(&self, version: u64) -> Result<Option<Slot>> {
        self.before(Method::Record).await;
        if self.mutation == Mutation::OverTheGap {
            let mut later = Vec::new();
            for version in version + 1..version + 4 {
                let record = self.inner.record(version).await?.and_then(Slot::into_record);
                later.extend(record);
            }
            self.then(()).await;
            self.memory().later = later;
        }
        let slot = self.inner.record(version).await;
        Ok(self.tampered(version, self.then(slot).await?))
    }

    async fn record_versions(&self) -> Result<Vec<u64>> {
        let versions = self.inner.record_versions().await;
        self.then(versions).await
    }

    async fn list_names(&self, dirs: Vec<String>) -> Result<Vec<Names>> {
        self.before(Method::Names).await;
        let names = self.inner.list_names(dirs).await;
        self.then(names).await
    }

    /// One directory after another: they are listed at different times.
    async fn list_files(&self, dirs: Vec<String>) -> Result<Vec<Files>> {
        let mut all = Vec::new();
        for (n, dir) in dirs.into_iter().enumerate() {
            self.before(Method::Files(n)).await;
            let found = self.inner.list_files(vec![dir.clone()]).await;
            let mut found = self.then(found).await?;
            if self.mutation == Mutation::PutBackUnseen {
                let looked = self.memory().looked.clone();
                let version = looked.and_then(|look| look.published).map_or(0, |p| p.version);
                let later = self.later_than(version).await;
                self.memory().later = self.then(later).await?;
                found.iter_mut().for_each(|found| self.seen(&dir, &mut found.files));
            }
            all.extend(found);
        }
        Ok(all)
    }

    async fn has_data(&self) -> Result<bool> {
        let answer = self.inner.has_data().await;
        self.then(answer).await
    }

    async fn open(&self, file: &DataFile) -> Result<OpenFile> {
        self.before(Method::Open).await;
        let open = self.inner.open(file).await;
        self.then(open).await
    }

    async fn begin(
        &self,
        txn: &TransactionId,
        columns: &[PartitionColumn],
    ) -> Result<Arc<dyn Staging>> {
        self.inner.begin(txn, columns).await
    }

    async fn hold(&self, timeout: Duration, statement: &str) -> Result<Hold> {
        let hold = self.inner.hold(timeout, statement).await;
        self.then(hold).await
    }

    async fn sweep(&self, own: &TransactionId) -> Vec<String> {
        let swept = self.inner.sweep(own).await;
        self.then(swept).await
    }

    async fn set_aside(&self, table: &str) -> Result<()> {
        let answer = self.inner.set_aside(table).await;
        self.then(answer).await
    }

    async fn create_meta(&self, meta: &Meta) -> Result<Meta> {
        let answer = self.inner.create_meta(meta).await;
        self.then(answer).await
    }

    async fn log(&self, record: &Record) -> Result<Logged> {
        let logged = self.inner.log(record).await;
        match self.then(logged).await? {
            Logged::Unknown(_) if self.mutation == Mutation::PutOnce => {
                Err(Error::conflict("it isn't there: it wasn't logged"))
            }
            logged => Ok(logged),
        }
    }

    async fn complete(&self, record: &Record, marker: SuccessMarker) -> Result<Outcome> {
        if self.mutation == Mutation::PublishBeforeComplete {
            return Ok(Outcome::Done);
        }
        let outcome = self.inner.complete(record, marker).await;
        let outcome = self.then(outcome).await?;
        if self.mutation == Mutation::CleanBeforePublish {
            let cleaned = self.inner.clean(record, &outcome).await;
            self.then(cleaned).await?;
        }
        Ok(outcome)
    }

    async fn publish(&self, version: u64, outcome: Outcome) -> Result<Outcome> {
        let settled = self.inner.publish(version, outcome.clone()).await;
        let settled = self.then(settled).await?;
        if self.mutation == Mutation::OwnOutcome {
            return Ok(outcome);
        }
        if self.mutation == Mutation::PublishBeforeComplete {
            let slot = self.inner.record(version).await;
            let slot = self.then(slot).await?;
            if let Some(record) = slot.and_then(Slot::into_record) {
                let late = self.inner.complete(&record, SuccessMarker::None).await;
                self.then(late).await?;
            }
        }
        Ok(settled)
    }

    async fn clean(&self, record: &Record, outcome: &Outcome) -> Result<()> {
        if !self.cleans {
            return Ok(());
        }
        let cleaned = self.inner.clean(record, outcome).await;
        self.then(cleaned).await
    }

    async fn mark_success(&self, record: &Record, marker: SuccessMarker) -> Result<()> {
        let marked = self.inner.mark_success(record, marker).await;
        self.then(marked).await
    }

    async fn drop_retained(&self, record: &Record) -> Result<()> {
        let dropped = self.inner.drop_retained(record).await;
        self.then(dropped).await
    }

    async fn retained_versions(&self) -> Result<Vec<u64>> {
        let versions = self.inner.retained_versions().await;
        self.then(versions).await
    }

    async fn trim_record(&self, version: u64) -> Result<()> {
        let trimmed = self.inner.trim_record(version).await;
        self.then(trimmed).await
    }

    async fn retained_files(&self, version: u64) -> Result<Vec<(String, u64)>> {
        let files = self.inner.retained_files(version).await;
        self.then(files).await
    }

    async fn leftovers(&self, oldest: i64, pending: Option<&TransactionId>) -> Result<Vec<Waste>> {
        let found = self.inner.leftovers(oldest, pending).await;
        self.then(found).await
    }

    async fn remove_waste(&self, waste: &Waste) -> Result<()> {
        let removed = self.inner.remove_waste(waste).await;
        self.then(removed).await
    }

    async fn tidy(&self) {}

    async fn purge(&self) -> Result<()> {
        self.inner.purge().await
    }
}
